#pragma once
// A coroutine that waits for something of its own program, and looks at the time meanwhile.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <utility>

#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 inlines Asio's operator delete of coroutines and not its operator new, and takes them for
// strangers.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace belay::cli {

/// Who waits is woken by ring(), or when the time is over.
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
