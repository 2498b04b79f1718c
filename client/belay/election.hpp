#pragma once
// Leader election: one of many candidates has the leadership.
//
// Guarantees: as a mutex: while the lease of a campaign is safe() no other candidate leads. Names
// are exact. On Belay candidates are served in order; on Consul it is the lock of a key.
// Survives: as a mutex. Observers keep what they last saw while servers restart. During a transfer
// or release the lease is not safe(): the next leader may start before the response. On failure: as
// a mutex. transfer() is refused with reason::unsupported on Consul, reason::invalid if no
// candidate waits. After an *unknown* one the lease is released for the next candidate.

#include <belay/lease.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace belay {
inline namespace v0 {

/// The current leader.
class leader {
public:
  leader() = default;
  std::string session;
  std::string value; ///< what the leader publishes about itself, such as an address
  std::uint64_t fence = 0;
};

class election {
public:
  election(session& s, std::string name, recipe how = recipe::automatic);

  /// Waits until it leads.
  /// @param value what observers see
  task<result<lease>> campaign(std::string value, deadline limit);
  /// Transfers it to the candidate that has waited longest, or to the one with the claim ID `to`.
  task<status> transfer(lease& held, deadline limit, std::string to = {});

private:
  session& session_;
  std::string name_;
  recipe how_;
};

class election_observer {
public:
  /// @param claims whether it uses claims: session::has_claims(), or the recipe given to it
  election_observer(environment& env, std::string name, bool claims)
      : env_(env), name_(std::move(name)), claims_(claims) {}

  /// Waits for a leader other than the last result; the first call returns at once. nullopt: none.
  task<result<std::optional<leader>>> next(deadline limit);

private:
  environment& env_;
  std::string name_;
  bool claims_;
  bool first_ = true;
  std::uint64_t seen_ = 0;
  std::optional<leader> last_;
};

} // namespace v0
} // namespace belay
