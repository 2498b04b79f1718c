#pragma once
// Decides when the older generation of a checkpoint is replaced by a copy of the newest one.

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace belay::storage {

struct generation_limits {
  std::uint64_t log_bytes = 1u << 30; ///< replaced when this much log follows it
  std::chrono::nanoseconds age = std::chrono::hours(1);
  /// Copies add at most one byte to this many written for log and checkpoints. If the state is so
  /// large that copies at the limits would add more, they become older. 0: no such bound.
  std::uint64_t written_for_copied = 10;
};

/// All times are from one monotonic clock.
class generation_schedule {
public:
  using time = std::chrono::nanoseconds;

  /// @param log_bytes size of the existing log, which was written since the copy
  generation_schedule(generation_limits limits, time now, std::uint64_t log_bytes)
      : limits_(limits), kept_at_(now), log_bytes_(log_bytes), written_bytes_(log_bytes) {}

  /// A checkpoint was written.
  /// @param log_bytes of the entries since the previous one
  /// @param checkpoint_bytes written for it, approximately
  void wrote(std::uint64_t log_bytes, std::uint64_t checkpoint_bytes) {
    log_bytes_ += log_bytes;
    written_bytes_ += log_bytes + checkpoint_bytes;
  }
  /// @param needed there is no copy that the log reaches back to
  /// @param copy_bytes size of a copy, approximately
  bool due(time now, bool needed, std::uint64_t copy_bytes) const {
    if (needed)
      return true;
    const bool old = log_bytes_ >= limits_.log_bytes || now - kept_at_ >= limits_.age;
    return old && written_bytes_ >= limits_.written_for_copied * copy_bytes;
  }
  void kept(time now) {
    kept_at_ = now;
    log_bytes_ = written_bytes_ = 0;
  }

private:
  generation_limits limits_;
  time kept_at_;
  std::uint64_t log_bytes_;
  std::uint64_t written_bytes_;
};

} // namespace belay::storage
