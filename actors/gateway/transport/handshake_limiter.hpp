#pragma once
// HTTPS handshakes cost a thousand times as much as requests, and anyone may start one. They get a
// share of the thread's time here, first come first served; log lines about rejections are limited.

#include "actors/log_rate_limiter.hpp"
#include "actors/messages.hpp"
#include "actors/time_budget.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <deque>
#include <memory>
#include <string>

namespace belay::actors {

/// Limits the time that handshakes take. Use it on the loop's thread only.
class handshake_limiter : public std::enable_shared_from_this<handshake_limiter> {
public:
  /// A connection with a handshake to do.
  class waiter {
  public:
    virtual ~waiter() = default;
    /// There is time now; it need not call may_work().
    virtual void on_time_granted() = 0;
  };

  /// @param share_of_time of the thread, above 0 and at most 1
  handshake_limiter(boost::asio::io_context& loop, double share_of_time);

  /// Whether there is time for a step now. Otherwise call wait().
  bool may_work();
  /// A step took this long.
  void spend(std::chrono::nanoseconds time) { budget_.spend(time); }
  /// Calls on_time_granted() when there is time, unless the visitor is gone by then.
  void wait(std::weak_ptr<waiter> who);
  /// on_time_granted() is not called after this.
  void stop();

  /// Logs a rejection, within limits.
  /// @param address of the client; empty: a Unix socket
  void log_rejection(const std::string& address, const std::string& why, monotonic_time now);

private:
  using clock = std::chrono::steady_clock;

  void earn();
  void wake_later();
  void serve();

  boost::asio::steady_timer timer_;
  double share_of_time_;
  time_budget budget_;
  clock::time_point earned_until_ = clock::now();
  std::deque<std::weak_ptr<waiter>> waiting_;
  log_rate_limiter log_limit_;
  bool stopped_ = false;
};

} // namespace belay::actors
