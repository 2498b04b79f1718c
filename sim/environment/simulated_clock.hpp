#pragma once
// The clocks of a node: monotonic ones that run fast or slow, jump and stop, and a wall clock.

#include "actors/node/boot_clock.hpp"
#include "sim/environment/schedule.hpp"

#include <optional>

namespace belay::sim {

class simulated_clock final : public actors::node_clock {
public:
  explicit simulated_clock(const schedule& time) : time_(time), set_at_(time.system_now()), shown_(set_at_) {}

  /// Whichever of the two below the server uses.
  actors::monotonic_time now() const override {
    return actors::boot_clock::counts_suspensions() ? since_boot() : awake();
  }
  /// Like CLOCK_BOOTTIME.
  actors::monotonic_time since_boot() const {
    return stopped_ ? shown_
                    : shown_ + std::chrono::nanoseconds(
                                   scaled((time_.system_now() - set_at_).count(), million_ + rate_ppm_, million_));
  }
  /// Like CLOCK_MONOTONIC.
  actors::monotonic_time awake() const { return suspended_.value_or(since_boot()) - slept_; }
  std::chrono::nanoseconds in_system_time(std::chrono::nanoseconds own) const override {
    return std::chrono::nanoseconds(scaled(own.count(), million_, million_ + rate_ppm_) + 1);
  }
  cluster_time wall() const {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since_boot().time_since_epoch()).count();
    return cluster_time{static_cast<std::uint64_t>(static_cast<std::int64_t>(wall_base_ms) + ms + wall_offset_ms_)};
  }

  /// Sets how many millionths faster than true time it runs from now on. @pre > -1'000'000
  void set_rate(std::int64_t ppm) {
    shown_ = since_boot();
    set_at_ = time_.system_now();
    rate_ppm_ = ppm;
  }
  std::int64_t rate_ppm() const { return rate_ppm_; }
  /// Jumps as after a suspension. Monotonic clocks never go back.
  void jump(std::chrono::nanoseconds ahead) { shown_ += ahead; }
  void set_wall(std::int64_t offset_ms) { wall_offset_ms_ = offset_ms; }

  /// The machine is suspended: only the clock since boot advances.
  void suspend() { suspended_ = since_boot(); }
  /// The hypervisor stops the machine: no clock advances.
  void stop() {
    shown_ = since_boot();
    stopped_ = true;
  }
  bool stopped() const { return stopped_; }
  /// Ends a suspension or a stop, if there is one.
  void go_on() {
    if (stopped_)
      set_at_ = time_.system_now();
    stopped_ = false;
    if (suspended_)
      slept_ += since_boot() - *suspended_;
    suspended_.reset();
  }

private:
  static constexpr std::int64_t million_ = 1'000'000;
  // An evening in November 2026, so that cluster times look real.
  static constexpr std::uint64_t wall_base_ms = 1'795'000'000'000;

  static std::int64_t scaled(std::int64_t n, std::int64_t by, std::int64_t over) {
    return static_cast<std::int64_t>(static_cast<__int128>(n) * by / over);
  }

  const schedule& time_;
  actors::monotonic_time set_at_;
  actors::monotonic_time shown_; ///< what it showed at set_at_
  std::int64_t rate_ppm_ = 0;
  std::int64_t wall_offset_ms_ = 0;
  bool stopped_ = false;
  std::optional<actors::monotonic_time> suspended_; ///< when the suspension began, by since_boot()
  std::chrono::nanoseconds slept_{0};
};

} // namespace belay::sim
