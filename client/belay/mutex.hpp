#pragma once
// A lock that one client of a cluster holds at a time.
//
// Guarantees: while a lease is safe() no other client holds the lock. Fencing tokens grow. On Belay
// waiters are served in order, by the release itself; on Consul they watch the key, and the first
// one wins (docs/guides/client.md). It is the lock of a key, so it also excludes Consul's clients.
// Survives: lost responses (it retries with the same session), elections, restarts, a lock delay.
// On failure: *refused* with reason deadline, stopped or session, and not held; what was granted
// meanwhile is released. Several holders that share a session take turns.
//
// A release that arrives after all deadlines harms no later holder. On Belay it has an idempotency
// key; on Consul it names one index of the key. An *acquire* that arrives so late locks the key for
// a session that does not know it, until that acquires and releases it, or ends. With
// recipe::claims (Belay) each lease has an ID, and neither can happen; but key locks are not
// excluded.

#include <belay/lease.hpp>

#include <cstdint>
#include <string>

namespace belay {
inline namespace v0 {

class mutex_options {
public:
  mutex_options() = default;
  /// The value of the key while it is held, for others. At most 4 KiB if the lock has to wait.
  std::string value;
  /// The flags by which Consul's own clients recognize a lock, so that they accept it.
  std::uint64_t flags = 0x2ddccbc058a50c18;
  /// recipe::claims: locks the claim of that name instead of the key.
  recipe how = recipe::keys;
};

class mutex {
public:
  mutex(session& s, std::string key, mutex_options options = mutex_options());

  /// Waits for its turn. Destroying the task leaves the queue.
  task<result<lease>> acquire(deadline limit);

private:
  detail::pending_release release_of(const std::string& id);
  task<std::uint64_t> fence_of_key(std::string id, deadline limit);
  task<bool> wait_while_locked(deadline limit);

  session& session_;
  std::string key_;
  mutex_options options_;
};

} // namespace v0
} // namespace belay
