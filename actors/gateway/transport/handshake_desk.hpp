#pragma once
// Handshakes of HTTPS cost a thousand times what a request does, and everybody may ask for one. Here they get a share of the thread's
// time, in the order in which they came, and refusals are told without filling the log.

#include "actors/log_brake.hpp"
#include "actors/messages.hpp"
#include "actors/time_purse.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <deque>
#include <memory>
#include <string>

namespace belay::actors {

/// For the loop's thread.
class handshake_desk : public std::enable_shared_from_this<handshake_desk> {
public:
  /// Whoever has to shake hands.
  class visitor {
  public:
    virtual ~visitor() = default;
    /// His turn has come; he need not ask may_work().
    virtual void on_turn() = 0;
  };

  /// @param share_of_time of the thread, above 0 and at most 1
  handshake_desk(boost::asio::io_context& loop, double share_of_time);

  /// Whether there is time for a step now. Otherwise wait().
  bool may_work();
  /// A step took so long.
  void spend(std::chrono::nanoseconds time) { purse_.spend(time); }
  /// on_turn() is called when there is time, unless he is gone by then.
  void wait(std::weak_ptr<visitor> who);
  /// Nobody's turn comes any more.
  void stop();

  /// A line of the log, if it is not one too many. @param address of the client; empty: a Unix socket
  void tell_refusal(const std::string& address, const std::string& why, monotonic_time now);

private:
  using clock = std::chrono::steady_clock;

  void earn();
  void wake_later();
  void serve();

  boost::asio::steady_timer timer_;
  double share_of_time_;
  time_purse purse_;
  clock::time_point earned_until_ = clock::now();
  std::deque<std::weak_ptr<visitor>> waiting_;
  log_brake brake_;
  bool stopped_ = false;
};

} // namespace belay::actors
