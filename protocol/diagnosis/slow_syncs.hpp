#pragma once
// Decides when log syncs are so slow that an operator should know: one very long sync, or many
// that take much longer than before. Durations and times in, a finding out; it has no clock.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace belay::diagnosis {

/// Monotonic local time; only differences matter.
using local_time = std::chrono::nanoseconds;

struct slow_sync_rules {
  /// A longer sync is reported by itself. etcd warns from 1 s on; a
  /// follower campaigns after 0.5 s without its leader (raft_multiplier 1).
  std::chrono::nanoseconds long_one = std::chrono::milliseconds(500);
  /// A sync counts as slow above this many medians of the last hour...
  std::uint64_t medians = 10;
  /// ...and above this. On a disk that needs 30 us, a busy machine
  /// delays ten syncs a minute to 0.3 ms, which is harmless.
  std::chrono::nanoseconds slow_min = std::chrono::milliseconds(10);
  /// This many slow ones within `window` are reported.
  std::size_t slow_count = 10;
  std::chrono::nanoseconds window = std::chrono::minutes(1);
  /// At most one finding within this time.
  std::chrono::nanoseconds quiet = std::chrono::minutes(1);
};

class slow_syncs {
public:
  struct finding {
    std::chrono::nanoseconds longest; ///< since the previous finding
    std::chrono::nanoseconds median;  ///< median of the last hour, this sync included; at most a quarter too large
    std::size_t slow;                 ///< slow ones within slow_sync_rules::window
  };

  explicit slow_syncs(slow_sync_rules rules = {}) : rules_(rules), minutes_(minutes_kept) {}

  /// A sync has ended.
  /// @param now not smaller than before
  /// @returns a finding for the operator; nullopt: none, or too soon after another
  std::optional<finding> took(std::chrono::nanoseconds duration, local_time now);

  /// Median of the last hour; zero: there was no sync.
  std::chrono::nanoseconds median() const;

private:
  // Four buckets for each power of two, from 1 us to 137 s.
  static constexpr unsigned first_power = 10, last_power = 36, parts = 4;
  static constexpr std::size_t buckets = (last_power - first_power + 1) * parts;
  static constexpr std::size_t minutes_kept = 60;
  using histogram = std::array<std::uint32_t, buckets>;
  struct minute {
    std::int64_t number = -1; ///< since the clock's beginning; negative: unused
    histogram count{};
  };

  static std::size_t bucket_of(std::chrono::nanoseconds d);
  static std::chrono::nanoseconds end_of(std::size_t bucket);
  void forget_old(std::int64_t present);

  slow_sync_rules rules_;
  std::vector<minute> minutes_; ///< by number modulo minutes_kept
  std::array<std::uint64_t, buckets> hour_{};
  std::uint64_t hour_count_ = 0;
  std::int64_t newest_minute_ = -1;
  std::deque<local_time> slow_; ///< when the newest slow ones ended, at most slow_count of them
  std::chrono::nanoseconds longest_{0};
  std::optional<local_time> found_at_;
};

} // namespace belay::diagnosis
