#pragma once
// When the state is written to disk. A checkpoint costs bytes on disk in proportion to the rows that changed, and saves two things: the time
// that a restart takes to apply the log since the last one, and the memory and disk that this log takes. So one is due by these.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace belay::actors {

struct checkpoint_limits {
  /// `raft_snapshot_threshold`: due after so many entries, and after each interval in which there was one. 0: by what it saves.
  std::uint64_t entries = 0;
  /// Always due after so many bytes of entries since the last one, which a server keeps in memory, too.
  std::size_t log_bytes = 32u << 20;
  /// Due when it took so long to apply them: a restart takes about that time.
  std::chrono::nanoseconds replay = std::chrono::seconds(1);
  /// Due after an interval with so many bytes: there is no hurry, and fewer are not worth it.
  std::size_t log_bytes_per_interval = 8u << 20;
  std::chrono::nanoseconds interval = std::chrono::seconds(30); ///< `raft_snapshot_interval`
};

/// Times are of one monotonic clock.
class checkpoint_schedule {
public:
  using time = std::chrono::nanoseconds;

  /// What an entry takes in memory beside its command, about.
  static constexpr std::size_t entry_bytes = 160;

  explicit checkpoint_schedule(checkpoint_limits limits) : limits_(limits) {}

  /// An entry was applied. @param command_bytes of what it asks for
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

  /// One is written now. @returns the bytes of commands since the last one
  std::uint64_t begin(time now) {
    begun_ = now;
    return forget();
  }
  /// The state came from elsewhere, and is on the disk. @returns as begin()
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
