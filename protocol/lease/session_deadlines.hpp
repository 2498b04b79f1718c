#pragma once
// Deadlines of sessions by the leader's monotonic clock: as in Consul 1.8.7 twice the TTL after the
// last renewal (docs/contract/04, section 5; Consul's SessionTTLMultiplier), or an exact TTL
// (docs/reference/claims.md, rule 20). Sessions stay due until removed: no end is lost (docs/internals/pitfalls.md C3).

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

/// What a TTL guarantees: Consul's lower bound, or the exact TTL (docs/reference/claims.md, rule 20).
enum class precision : std::uint8_t { lower_bound, exact };

/// How long a session lives after its creation or renewal.
inline std::chrono::nanoseconds lifetime(std::chrono::nanoseconds ttl, precision p = precision::lower_bound) {
  const bool exact = p == precision::exact && !MUTANT(exact_ttl_as_lower_bound);
  return MUTANT(session_ends_early) ? ttl / 2 : exact ? ttl : 2 * ttl;
}

class session_deadlines {
public:
  session_deadlines();
  ~session_deadlines();
  session_deadlines(session_deadlines&&) noexcept;

  /// Starts or restarts a session's timer: due at now + lifetime(). @pre ttl > 0
  void restart(std::string_view id, std::chrono::nanoseconds ttl, local_time now, precision p = precision::lower_bound);
  /// @returns false if the session has no timer.
  bool renew(std::string_view id, local_time now);
  /// Time until it is due, not below zero; nullopt: it has no timer.
  std::optional<std::chrono::nanoseconds> left(std::string_view id, local_time now) const;
  void remove(std::string_view id);
  void clear();
  /// Those due at `now`, earliest first; they stay, and are returned again after `retry_after`. If
  /// there are more than `max`, the others are returned by the next calls.
  std::vector<std::string> due(local_time now, std::chrono::nanoseconds retry_after, std::size_t max = SIZE_MAX);
  std::size_t size() const;

  /// When due() will next return an exact session; nullopt: none. Others can wait for a tick.
  std::optional<local_time> next_exact();
  /// The caller could not run for `late` until `now`: renewals may have been delayed, too. Exact
  /// sessions that became due meanwhile live that much longer; no other becomes due within that
  /// time again. Others do not change. Call before due(). O(sessions that it moves).
  void make_up_for(std::chrono::nanoseconds late, local_time now);

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace belay::lease
