#pragma once
// Rates and latencies of the last hour (docs/reference/http-extensions.md, "Metrics of the last hour").

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
    std::int64_t began = 0; ///< start of the interval; seconds since 1970
    double requests = 0, request_ms = 0,
           request_max_ms = 0; ///< per second; waiting for changes counts as a request, without its time
    double entries = 0, commit_ms = 0, commit_max_ms = 0; ///< proposed, per second: of the leader
    double sync_ms = 0, sync_max_ms = 0;
    std::uint64_t term = 0, applied = 0, keys = 0, claims_held = 0, claims_waiting = 0, parked = 0, streams = 0,
                  connections = 0;
    bool leader = false;
  };

  /// Removes the oldest one when there are too many.
  void add(const row& r);
  /// @param interval seconds
  std::string json(std::int64_t interval) const;

private:
  std::deque<row> rows_; ///< oldest first
};

} // namespace belay::actors
