#pragma once
// A lock with a limited number of permits.
//
// Guarantees: the permits whose leases are safe() never exceed the limit. On Belay (claims) permits
// are weighted, waiters are served in order, and an unused one leaves nothing behind. On Consul it
// uses the keys of Consul's own clients below NAME/, which it excludes: one permit each, no order,
// no fencing token. Survives: as a mutex. A holder that dies withholds its permits for its
// session's lock delay (Belay), or until its session ends (Consul).
// On failure: as a mutex. Another limit than the one in force is refused, reason::invalid.
//
// Name the recipe explicitly if servers may be upgraded to support claims while a name is in use.
// The two recipes do not exclude each other.

#include <belay/lease.hpp>

#include <cstdint>
#include <string>

namespace belay {
inline namespace v0 {

class semaphore {
public:
  semaphore(session& s, std::string name, std::uint64_t limit, recipe how = recipe::automatic);
  task<result<lease>> acquire(std::uint64_t permits, deadline limit);

private:
  task<result<lease>> acquire_slot(deadline limit);

  session& session_;
  std::string name_;
  std::uint64_t limit_;
  recipe how_;
};

} // namespace v0
} // namespace belay
