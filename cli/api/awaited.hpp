#pragma once
// A task of the client library that a coroutine of Asio waits for.

#include "cli/names.hpp"

#include <belay/task.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <optional>
#include <utility>

#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 inlines Asio's operator delete of coroutines and not its operator new, and takes them for
// strangers.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace belay::cli {

/// Usage, with a task that has a name: `auto got = co_await awaited(std::move(task));`
/// @param what of a world on the loop of the coroutine that waits
template <class T>
boost::asio::awaitable<T> awaited(v0::task<T> what) {
  constexpr auto ringing = [](v0::task<T> all, std::optional<T>& out,
                              boost::asio::steady_timer& bell) -> v0::task<void> {
    T got = co_await all;
    out.emplace(std::move(got));
    bell.cancel();
  };
  auto executor = co_await boost::asio::this_coro::executor;
  boost::asio::steady_timer bell(executor);
  std::optional<T> out;
  auto running = ringing(std::move(what), out, bell);
  running.start();
  while (!out) {
    boost::system::error_code rung;
    bell.expires_after(std::chrono::hours(1));
    co_await bell.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, rung));
  }
  co_return std::move(*out);
}

} // namespace belay::cli
