#pragma once
// A coroutine waits for an event of its own program, or for a time.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <utility>

#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 inlines Asio's operator delete of coroutines but not its operator new, and warns that the
// two do not match.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace belay::cli {

/// Wakes a waiting coroutine on ring(), or after a time.
class bell {
public:
  explicit bell(boost::asio::any_io_executor executor) : timer_(std::move(executor)) {}
  boost::asio::awaitable<void> wait(std::chrono::milliseconds limit) {
    boost::system::error_code ec;
    timer_.expires_after(limit);
    co_await timer_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ec));
  }
  void ring() { timer_.cancel(); }

private:
  boost::asio::steady_timer timer_;
};

} // namespace belay::cli
