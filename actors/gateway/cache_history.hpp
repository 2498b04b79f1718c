#pragma once
// What a server has answered to reads with `?cached`, so that the next answer says as Consul's whether there was one before
// (docs/contract/06, section 2). No answers are kept: the server's tables are always there, and never older than a cache.

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
  std::size_t entries_max = 8192;    ///< about 100 bytes each; beyond it what was not read for the longest is forgotten
  std::chrono::seconds unused{3600}; ///< what nobody has read for so long is forgotten (Consul: three days)
};

/// Any thread.
class cache_history {
public:
  explicit cache_history(cache_history_settings settings = {}) : settings_(settings) {}

  struct circumstances {
    bool waited = false; ///< for a change: then it is new, whatever there was before
    std::chrono::seconds silent_for{
        0}; ///< this server knows of no leader, and heard the last one so long ago; zero: it knows one
  };
  /// It is answered with 200 now. @param secret of the token; empty: it is anonymous
  http::cache_mark answered(std::string_view secret, const http::cached_read& r, const circumstances& c,
                            monotonic_time now);

  std::size_t size() const;

private:
  /// A hash of token and target. Where two are the same, a first answer is called a hit.
  using key = std::uint64_t;
  struct entry {
    monotonic_time fetched, used;
    std::list<key>::iterator turn;
  };

  void forget_unused(monotonic_time now);

  const cache_history_settings settings_;
  mutable std::mutex mutex_; ///< of what follows
  std::unordered_map<key, entry> entries_;
  std::list<key> turns_; ///< what was not read for the longest first
};

} // namespace belay::actors
