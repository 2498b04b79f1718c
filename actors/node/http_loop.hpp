#pragma once
// Runs an HTTP thread's event loop, and decides when to poll instead of sleeping.

#include "actors/node/boot_clock.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <functional>

namespace belay::actors {

/// A sleeping thread costs its next request a wake-up: 30 to 50 us on a virtual machine, more than
/// the request. So if a client sends one right after its response, the loop polls for the next one
/// for at most `awake_max`. Between polls it yields to all other threads. An idle node sleeps.
class http_loop {
public:
  using clock = boot_clock; // the gateway's

  static constexpr std::chrono::microseconds awake_max{50};

  /// @param last_answer time of the newest response; called on the loop's thread
  http_loop(boost::asio::io_context& loop, std::function<clock::time_point()> last_answer)
      : loop_(loop), last_answer_(std::move(last_answer)) {}

  /// Returns when the loop is stopped.
  void run();

private:
  bool worth_waiting_awake(clock::time_point now) const;

  boost::asio::io_context& loop_;
  std::function<clock::time_point()> last_answer_;
  bool quick_client_ = false; ///< the last answer but one was followed by an event within twice awake_max
};

} // namespace belay::actors
