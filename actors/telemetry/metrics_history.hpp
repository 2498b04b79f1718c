#pragma once
// The last hour of what a person looks at first: rates and latencies, an interval a row (docs/http-extensions.md, "Metrics of the last hour").

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

namespace belay::actors {

/// One thread at a time.
class metrics_history {
public:
  static constexpr std::size_t rows_max = 360;

  struct row {
    std::int64_t began = 0; ///< of the interval; seconds since 1970
    double requests = 0, request_ms = 0,
           request_max_ms = 0; ///< a second; those that wait for a change count, their time does not
    double entries = 0, commit_ms = 0, commit_max_ms = 0; ///< proposed, a second: of the leader
    double sync_ms = 0, sync_max_ms = 0;
    std::uint64_t term = 0, applied = 0, keys = 0, claims_held = 0, claims_waiting = 0, parked = 0, streams = 0,
                  connections = 0;
    bool leader = false;
  };

  /// The oldest one goes when there are too many.
  void add(const row& r);
  /// @param interval seconds
  std::string json(std::int64_t interval) const;

private:
  std::deque<row> rows_; ///< oldest first
};

} // namespace belay::actors
