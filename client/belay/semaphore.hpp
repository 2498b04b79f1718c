#pragma once
// At most so many at a time.
//
// Promise: while their holds are safe() the permits that are held are never more than the limit. On Belay (claims) it is
// weighted, those who wait are served in order, and nothing of it is left when nobody uses it. On Consul it is the recipe of
// Consul's own clients, with keys below NAME/, and excludes them, too: one permit each, no order, no fence.
// Survives: as a mutex. A holder that dies withholds its own permits for its session's lock delay (Belay), or until its
// session ends (Consul).
// When it cannot: as a mutex. A limit that is not the one in force is refused, reason::invalid.
//
// Who uses one name on a server while it learns claims (an upgrade) should say which recipe is meant: they do not exclude
// each other.

#include <belay/hold.hpp>

#include <cstdint>
#include <string>

namespace belay {
inline namespace v0 {

class semaphore {
public:
  semaphore(session& s, std::string name, std::uint64_t limit, recipe how = recipe::automatic);
  task<result<hold>> acquire(std::uint64_t permits, patience limit);

private:
  task<result<hold>> acquire_slot(patience limit);

  session& session_;
  std::string name_;
  std::uint64_t limit_;
  recipe how_;
};

} // namespace v0
} // namespace belay
