#pragma once
// A lock that many readers have together, or one writer alone.
//
// Promise: while a writer's hold is safe() nobody else's is; while a reader's is, no writer's is. Who asks is served in order:
// a reader that comes behind a writer waits for it, so that writers do not starve. Fences grow with each grant.
// Survives: as a mutex by claims. Behind a reader that died a writer waits for the lock delay of its session; behind a writer
// that died everybody does.
// When it cannot: as a mutex. It needs claims: on Consul *refused* with reason::unsupported. After a downgrade() that is not
// *done* the hold has to be taken for a reader's: it may be one.
//
// A session may have several reader's holds. One that would wait for itself (a writer's beside its own reader's) waits here
// until that is given back.

#include <belay/hold.hpp>

#include <string>

namespace belay {
inline namespace v0 {

class shared_mutex {
public:
  shared_mutex(session& s, std::string name) : session_(s), name_(std::move(name)) {}

  /// Alone.
  task<result<hold>> acquire(patience limit, std::string value = {});
  /// Together with other readers.
  task<result<hold>> acquire_shared(patience limit, std::string value = {});
  /// Makes a writer's hold a reader's in one step: no other writer comes in between, and readers that wait may. The fence
  /// stays. @returns refused if it is not held any more
  task<status> downgrade(hold& alone, patience limit);

private:
  task<result<hold>> take(std::string mode, std::string value, patience limit);

  session& session_;
  std::string name_;
};

} // namespace v0
} // namespace belay
