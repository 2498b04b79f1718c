#pragma once
// Remembers which reads with `?cached` were answered, so that the next answer reports a hit or miss
// like Consul's (docs/contract/06, section 2). No answers are kept: the tables are the cache.

#include "actors/messages.hpp"
#include "protocol/http/request.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace belay::actors {

struct cache_history_settings {
  std::size_t entries_max = 8192;    ///< about 100 bytes each; beyond it the least recently read entries are dropped
  std::chrono::seconds unused{3600}; ///< entries that were not read for this long are dropped (Consul: three days)
};

/// Thread-safe.
class cache_history {
public:
  explicit cache_history(cache_history_settings settings = {}) : settings_(settings) {}

  struct circumstances {
    bool waited = false; ///< for a change: then the result is new in any case
    /// Time since the last contact to a leader, while there is none; zero: there is one.
    std::chrono::seconds silent_for{0};
  };
  /// Call it for an answer with status 200.
  /// @param secret of the token; empty: anonymous
  http::cache_state answered(std::string_view secret, const http::cached_read& r, const circumstances& c,
                             monotonic_time now);

  std::size_t size() const;

private:
  /// A hash of token and target. After a collision the first answer for a target is reported as a
  /// hit.
  using key = std::uint64_t;
  struct entry {
    monotonic_time fetched, used;
    std::list<key>::iterator lru_position;
  };

  void forget_unused(monotonic_time now);

  const cache_history_settings settings_;
  mutable std::mutex mutex_; ///< protects the members below
  std::unordered_map<key, entry> entries_;
  std::list<key> by_last_read_; ///< least recently read first
};

} // namespace belay::actors
