#pragma once
// A lock that one client of a cluster has at a time.
//
// Promise: while a hold is safe() nobody else has the lock. Fences of later grants are larger. On Belay those who wait are
// served in the order in which they asked, by the release itself; on Consul those who wait watch the key, and who is first
// has it (docs/client.md). It is the lock of a key, so that it excludes Consul's clients that lock that key, too.
// Survives: lost answers (it asks again: the session is the same), elections, servers that go and come back, a lock delay.
// When it cannot: *refused* with reason deadline, stopped or session; then this client does not hold it, and what a server may
// have granted meanwhile is given back. Several holds by one session queue among themselves.
//
// A release that comes late, later than all deadlines, takes nothing from whoever has the key then, the same session included:
// on Belay it has an idempotency key, on Consul it holds for one index of the key. An *acquire* that comes so late locks the key
// for a session that does not know it, until that session acquires and releases it again, or ends. With recipe::claims (Belay)
// each hold has an ID of its own, and neither can happen; it does not exclude those who lock the key.

#include <belay/hold.hpp>

#include <cstdint>
#include <string>

namespace belay {
inline namespace v0 {

class mutex_options {
public:
  mutex_options() = default;
  /// What others read in the key while it is held. At most 4 KiB if it has to wait.
  std::string value;
  /// The flags with which Consul's own clients mark a lock, so that they accept it.
  std::uint64_t flags = 0x2ddccbc058a50c18;
  /// recipe::claims: the claim of that name, not the lock of the key.
  recipe how = recipe::keys;
};

class mutex {
public:
  mutex(session& s, std::string key, mutex_options options = mutex_options());

  /// Waits for its turn. Destroying the task leaves the queue.
  task<result<hold>> acquire(patience limit);

private:
  giving_back release_of(const std::string& id);
  task<std::uint64_t> fence_of_key(std::string id, patience limit);
  task<bool> wait_while_locked(patience limit);

  session& session_;
  std::string key_;
  mutex_options options_;
};

} // namespace v0
} // namespace belay
