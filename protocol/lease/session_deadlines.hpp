#pragma once
// The deadlines of sessions with a TTL, by the leader's own monotonic clock. A TTL is a lower bound: as in Consul 1.8.7 a
// session is due at twice its TTL after its last renewal (docs/contract/04, section 5; SessionTTLMultiplier in Consul's
// source). What is due stays due until it is removed, so no end of a session is forgotten (docs/pitfalls.md C3).

#include "protocol/base/mutants.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::lease {

using local_time = std::chrono::nanoseconds;

/// How long a session lives from its creation or renewal on.
inline std::chrono::nanoseconds lifetime(std::chrono::nanoseconds ttl) {
  return MUTANT(session_ends_early) ? ttl / 2 : 2 * ttl;
}

class session_deadlines {
public:
  session_deadlines();
  ~session_deadlines();
  session_deadlines(session_deadlines&&) noexcept;

  /// Starts or restarts the timer of a session: due at now + 2 * ttl. @pre ttl > 0
  void restart(std::string_view id, std::chrono::nanoseconds ttl, local_time now);
  /// @returns false if the session has no timer.
  bool renew(std::string_view id, local_time now);
  /// Until it is due, not below zero; nullopt: it has no timer.
  std::optional<std::chrono::nanoseconds> left(std::string_view id, local_time now) const;
  void remove(std::string_view id);
  void clear();
  /// All due at `now`, earliest first; they stay until removed, and are not returned again before `retry_after` has passed.
  std::vector<std::string> due(local_time now, std::chrono::nanoseconds retry_after);
  std::size_t size() const;

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace belay::lease
