#pragma once
// The clocks of one node: monotonic ones that may run fast or slow, jump ahead and stand still, and a wall clock that may be set.

#include "actors/node/boot_clock.hpp"
#include "sim/world/schedule.hpp"

#include <optional>

namespace belay::sim {

class simulated_clock final : public actors::node_clock {
public:
  explicit simulated_clock(const schedule& time) : time_(time), set_at_(time.system_now()), shown_(set_at_) {}

  /// The one of the two below that the server takes.
  actors::monotonic_time now() const override {
    return actors::boot_clock::counts_suspensions() ? since_boot() : awake();
  }
  /// As CLOCK_BOOTTIME.
  actors::monotonic_time since_boot() const {
    return stopped_ ? shown_
                    : shown_ + std::chrono::nanoseconds(
                                   scaled((time_.system_now() - set_at_).count(), million_ + rate_ppm_, million_));
  }
  /// As CLOCK_MONOTONIC.
  actors::monotonic_time awake() const { return suspended_.value_or(since_boot()) - slept_; }
  std::chrono::nanoseconds in_system_time(std::chrono::nanoseconds own) const override {
    return std::chrono::nanoseconds(scaled(own.count(), million_, million_ + rate_ppm_) + 1);
  }
  cluster_time wall() const {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(since_boot().time_since_epoch()).count();
    return cluster_time{static_cast<std::uint64_t>(static_cast<std::int64_t>(wall_base_ms) + ms + wall_offset_ms_)};
  }

  /// Runs so many millionths faster than true time from now on. @pre > -1'000'000
  void set_rate(std::int64_t ppm) {
    shown_ = since_boot();
    set_at_ = time_.system_now();
    rate_ppm_ = ppm;
  }
  std::int64_t rate_ppm() const { return rate_ppm_; }
  /// As after a suspended machine goes on. Monotonic clocks never go back.
  void jump(std::chrono::nanoseconds ahead) { shown_ += ahead; }
  void set_wall(std::int64_t offset_ms) { wall_offset_ms_ = offset_ms; }

  /// The machine is suspended: only the time since its boot is counted.
  void suspend() { suspended_ = since_boot(); }
  /// The hypervisor stops the machine: nothing is counted.
  void stop() {
    shown_ = since_boot();
    stopped_ = true;
  }
  bool stopped() const { return stopped_; }
  /// After either of the two, or none.
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
  // Some evening in November 2026, so that cluster times look like real ones.
  static constexpr std::uint64_t wall_base_ms = 1'795'000'000'000;

  static std::int64_t scaled(std::int64_t n, std::int64_t by, std::int64_t over) {
    return static_cast<std::int64_t>(static_cast<__int128>(n) * by / over);
  }

  const schedule& time_;
  actors::monotonic_time set_at_;
  actors::monotonic_time shown_; ///< what it showed then
  std::int64_t rate_ppm_ = 0;
  std::int64_t wall_offset_ms_ = 0;
  bool stopped_ = false;
  std::optional<actors::monotonic_time> suspended_; ///< since then, by the time since boot
  std::chrono::nanoseconds slept_{0};
};

} // namespace belay::sim
