#pragma once
// A lock that many readers hold together, or one writer alone.
//
// Guarantees: while a writer's lease is safe() no other is; while a reader's is, no writer's is.
// Requests are served in order: a reader that arrives after a writer waits for it, so writers do
// not starve. Fencing tokens grow. Survives: as a mutex by claims. After a reader died, writers
// wait for the lock delay of its session; after a writer died, all do. On failure: as a mutex. It
// needs claims: on Consul *refused* with reason::unsupported. After a downgrade() that is not
// *done*, treat the lease as a reader's: it may be one.
//
// A session may have several readers' leases. A request that would wait for its own session (a
// writer beside its own reader) waits in this process until the other lease is released.

#include <belay/lease.hpp>

#include <string>

namespace belay {
inline namespace v0 {

class shared_mutex {
public:
  shared_mutex(session& s, std::string name) : session_(s), name_(std::move(name)) {}

  /// Acquires as a writer, alone.
  task<result<lease>> acquire(deadline limit, std::string value = {});
  /// Acquires as a reader, together with other readers.
  task<result<lease>> acquire_shared(deadline limit, std::string value = {});
  /// Turns a writer's lease into a reader's in one step: no other writer comes in between, and
  /// waiting readers may enter. The fencing token stays. @returns refused if the lease was lost
  task<status> downgrade(lease& alone, deadline limit);

private:
  task<result<lease>> take(std::string mode, std::string value, deadline limit);

  session& session_;
  std::string name_;
};

} // namespace v0
} // namespace belay
