#pragma once
// Decides when to write a checkpoint. A checkpoint costs bytes on disk in proportion to the changed
// rows. It makes a restart quicker, which has less of the log to apply, and frees the log's memory
// and disk. It is due when one of these has grown too large.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace belay::actors {

struct checkpoint_limits {
  /// `raft_snapshot_threshold`: due after this many entries, or an interval with any. 0: see below.
  std::uint64_t entries = 0;
  /// Always due after this many bytes of entries, which a server also keeps in memory.
  std::size_t log_bytes = 32u << 20;
  /// Due when applying the entries took this long: a restart takes about as long.
  std::chrono::nanoseconds replay = std::chrono::seconds(1);
  /// Due after an interval in which the log grew by this much. Fewer bytes are not worth a
  /// checkpoint.
  std::size_t log_bytes_per_interval = 8u << 20;
  std::chrono::nanoseconds interval = std::chrono::seconds(30); ///< `raft_snapshot_interval`
};

/// All times are from one monotonic clock.
class checkpoint_schedule {
public:
  using time = std::chrono::nanoseconds;

  /// Approximate memory of an entry beside its command.
  static constexpr std::size_t entry_bytes = 160;

  explicit checkpoint_schedule(checkpoint_limits limits) : limits_(limits) {}

  /// Call it for each applied entry.
  /// @param command_bytes size of its command
  void applied(std::size_t command_bytes) {
    ++entries_;
    command_bytes_ += command_bytes;
  }
  void took(std::chrono::nanoseconds to_apply) { replay_ += to_apply; }

  bool due(time now) const {
    const auto bytes = command_bytes_ + entries_ * entry_bytes;
    if (entries_ == 0)
      return false;
    if (bytes >= limits_.log_bytes)
      return true;
    const bool after_interval = now - begun_ >= limits_.interval;
    if (limits_.entries != 0)
      return entries_ >= limits_.entries || after_interval;
    return replay_ >= limits_.replay || (after_interval && bytes >= limits_.log_bytes_per_interval);
  }

  /// A checkpoint begins. @returns the bytes of commands since the last one
  std::uint64_t begin(time now) {
    begun_ = now;
    return forget();
  }
  /// The state was received from the leader, and is on the disk. @returns as begin()
  std::uint64_t forget() {
    entries_ = 0;
    replay_ = {};
    return std::exchange(command_bytes_, 0);
  }

private:
  checkpoint_limits limits_;
  time begun_{};
  std::uint64_t entries_ = 0;
  std::size_t command_bytes_ = 0;
  std::chrono::nanoseconds replay_{};
};

} // namespace belay::actors
