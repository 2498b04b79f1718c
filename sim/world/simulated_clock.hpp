#pragma once
// The clocks of one node: a monotonic one that may run fast or slow and jump ahead, and a wall clock that may be set.

#include "actors/interfaces.hpp"
#include "sim/world/schedule.hpp"

namespace belay::sim {

class simulated_clock final : public actors::node_clock {
public:
  explicit simulated_clock(const schedule& time) : time_(time), set_at_(time.system_now()), shown_(set_at_) {}

  actors::monotonic_time now() const override {
    return shown_ +
           std::chrono::nanoseconds(scaled((time_.system_now() - set_at_).count(), million_ + rate_ppm_, million_));
  }
  std::chrono::nanoseconds in_system_time(std::chrono::nanoseconds own) const override {
    return std::chrono::nanoseconds(scaled(own.count(), million_, million_ + rate_ppm_) + 1);
  }
  cluster_time wall() const {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now().time_since_epoch()).count();
    return cluster_time{static_cast<std::uint64_t>(static_cast<std::int64_t>(wall_base_ms) + ms + wall_offset_ms_)};
  }

  /// Runs so many millionths faster than true time from now on. @pre > -1'000'000
  void set_rate(std::int64_t ppm) {
    shown_ = now();
    set_at_ = time_.system_now();
    rate_ppm_ = ppm;
  }
  std::int64_t rate_ppm() const { return rate_ppm_; }
  /// As after a suspended machine goes on. Monotonic clocks never go back.
  void jump(std::chrono::nanoseconds ahead) { shown_ += ahead; }
  void set_wall(std::int64_t offset_ms) { wall_offset_ms_ = offset_ms; }

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
};

} // namespace belay::sim
