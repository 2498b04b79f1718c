#pragma once
// The deadlines of sessions with a TTL, by the leader's own monotonic clock. A TTL is a lower bound: as in Consul 1.8.7 a
// session is due at twice its TTL after its last renewal (docs/contract/04, section 5; SessionTTLMultiplier in Consul's
// source), unless it is an exact one, which is due at its TTL (docs/claims.md, rule 20). What is due stays due until it is removed, so no end of a session is forgotten (docs/pitfalls.md C3).

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

/// What a session's TTL promises: Consul's lower bound, or the TTL itself (docs/claims.md, rule 20).
enum class precision : std::uint8_t { lower_bound, exact };

/// How long a session lives from its creation or renewal on.
inline std::chrono::nanoseconds lifetime(std::chrono::nanoseconds ttl, precision p = precision::lower_bound) {
  const bool exact = p == precision::exact && !MUTANT(exact_ttl_as_lower_bound);
  return MUTANT(session_ends_early) ? ttl / 2 : exact ? ttl : 2 * ttl;
}

class session_deadlines {
public:
  session_deadlines();
  ~session_deadlines();
  session_deadlines(session_deadlines&&) noexcept;

  /// Starts or restarts the timer of a session: due at now + lifetime(). @pre ttl > 0
  void restart(std::string_view id, std::chrono::nanoseconds ttl, local_time now, precision p = precision::lower_bound);
  /// @returns false if the session has no timer.
  bool renew(std::string_view id, local_time now);
  /// Until it is due, not below zero; nullopt: it has no timer.
  std::optional<std::chrono::nanoseconds> left(std::string_view id, local_time now) const;
  void remove(std::string_view id);
  void clear();
  /// All due at `now`, earliest first; they stay until removed, and are not returned again before `retry_after` has passed.
  std::vector<std::string> due(local_time now, std::chrono::nanoseconds retry_after);
  std::size_t size() const;

  /// When due() will have an exact session to tell; nullopt: there is none. Others have time until the next tick.
  std::optional<local_time> next_exact();
  /// Who asks for what is due was kept from running for `late` until `now`: renewals may have been kept from coming by the same thing. Exact
  /// sessions that became due meanwhile live that much longer, and no other is due before as much time has passed again. Those that have longer
  /// to live than that stay as they are. Call it before due(). Costs as much as there are sessions that it moves.
  void make_up_for(std::chrono::nanoseconds late, local_time now);

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace belay::lease
