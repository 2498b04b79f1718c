#pragma once
// A task of the client library that a coroutine of Asio waits for.

#include <belay/task.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 inlines Asio's operator delete of coroutines and not its operator new, and takes them for strangers.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace belay::cli {

class running_task {
public:
  explicit running_task(const boost::asio::any_io_executor& executor) : bell_(executor) {}

  /// @pre nothing runs
  boost::asio::awaitable<void> run(task<void> what) {
    ended_ = false;
    all_ = ringing(*this, std::move(what));
    all_.start();
    while (!ended_) {
      boost::system::error_code rung;
      bell_.expires_after(std::chrono::hours(1));
      co_await bell_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, rung));
    }
    all_.reset();
  }

private:
  static task<void> ringing(running_task& self, task<void> what) {
    co_await what;
    self.ended_ = true;
    self.bell_.cancel();
  }

  boost::asio::steady_timer bell_;
  task<void> all_;
  bool ended_ = false;
};

} // namespace belay::cli
