#pragma once
// A coroutine of Asio waits for a task of the client library.

#include "cli/api/bell.hpp"
#include "cli/names.hpp"

#include <belay/task.hpp>

#include <boost/asio/this_coro.hpp>

#include <optional>
#include <utility>

namespace belay::cli {

/// Usage, with a task that has a name: `auto got = co_await awaited(std::move(task));`
/// @param what runs in an environment on the loop of the waiting coroutine
template <class T>
boost::asio::awaitable<T> awaited(v0::task<T> what) {
  constexpr auto ringing = [](v0::task<T> all, std::optional<T>& out, bell& done) -> v0::task<void> {
    T got = co_await all;
    out.emplace(std::move(got));
    done.ring();
  };
  auto executor = co_await boost::asio::this_coro::executor;
  bell done(executor);
  std::optional<T> out;
  auto running = ringing(std::move(what), out, done);
  running.start();
  while (!out)
    co_await done.wait(std::chrono::hours(1));
  co_return std::move(*out);
}

} // namespace belay::cli
