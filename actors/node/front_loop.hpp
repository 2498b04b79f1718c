#pragma once
// Runs the front thread's event loop, and decides when it is worth waiting awake.

#include "actors/node/boot_clock.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <functional>

namespace belay::actors {

/// A sleeping thread costs its next request a wake-up: 30 to 50 us on a virtual machine, more than the request itself. A client that asks
/// again as soon as it has its answer is therefore awaited awake, but only if it did so the last time, for at most `awake_max`, and giving
/// way to every other thread that could run. An idle node sleeps.
class front_loop {
public:
  using clock = boot_clock; // the gateway's

  static constexpr std::chrono::microseconds awake_max{50};

  /// @param last_answer when the newest answer was sent; called on the loop's thread
  front_loop(boost::asio::io_context& loop, std::function<clock::time_point()> last_answer)
      : loop_(loop), last_answer_(std::move(last_answer)) {}

  /// Returns when the loop is stopped.
  void run();

private:
  bool worth_waiting_awake(clock::time_point now) const;

  boost::asio::io_context& loop_;
  std::function<clock::time_point()> last_answer_;
  bool quick_client_ = false; ///< the newest answer but one was followed by something within twice awake_max
};

} // namespace belay::actors
