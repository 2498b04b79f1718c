#include "actors/tables/shared_tables.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"

#include <sched.h>

#include <algorithm>

namespace belay::actors {

std::uint64_t milliseconds_since(std::chrono::nanoseconds then, monotonic_time now) {
  const auto silent = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch() - then);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, silent.count()));
}

bool may_read_at_once(http::consistency mode, monotonic_time lease_until, monotonic_time now,
                      bool received_from_leader) {
  switch (mode) {
  case http::consistency::stale:
    // docs/contract/06, section 2: a server that never had contact with a leader serves
    // no stale reads; they wait like others.
    return received_from_leader;
  case http::consistency::normal:
    return lease_until > monotonic_time{} && (now < lease_until || MUTANT(lease_ended_by_word_only));
  case http::consistency::consistent:
    break;
  }
  return false;
}

// The writer sets its flag and then checks the readers'; a reader sets its flag and then checks
// the writer's. All four are sequentially consistent, so at least one of them sees the other.

shared_tables::writing::writing(shared_tables* tables) : tables_(tables) {
  if (tables_ == nullptr)
    return;
  const bool nested = tables_->written_.exchange(true);
  INVARIANT(!nested); // the end of the inner one would let readers in
  for (const auto& r : tables_->readers_)
    while (r.looks.load())
      sched_yield();
}

shared_tables::writing::~writing() {
  if (tables_ != nullptr)
    tables_->written_.store(false, std::memory_order_release);
}

void shared_tables::stands(bool serving, bool has_leader, monotonic_time lease_until) {
  serving_.store(serving, std::memory_order_relaxed);
  has_leader_.store(has_leader, std::memory_order_relaxed);
  // A thread that sees the lease sees everything applied before it was granted.
  lease_until_.store(lease_until.time_since_epoch().count(), std::memory_order_release);
}

std::optional<read_result> shared_tables::read(std::size_t reader, const http::read_request& requested,
                                               monotonic_time now) {
  const auto* get = std::get_if<state::kv_get>(&requested.query);
  if (get == nullptr || requested.query.by || requested.min_index > 0)
    return std::nullopt;
  struct looking {
    explicit looking(std::atomic<bool>& mark) : mark_(mark) { mark_.store(true); }
    ~looking() { mark_.store(false, std::memory_order_release); }
    std::atomic<bool>& mark_;
  };
  PRECONDITION(reader < readers_.size());
  const looking looks(readers_[reader].looks);
  if ((written_.load() && !MUTANT(tables_read_while_written)) || machine_ == nullptr)
    return std::nullopt;
  const auto until = lease_until();
  const bool serving = serving_.load(std::memory_order_relaxed);
  const std::chrono::nanoseconds received(vitals_.leader_contact_ns.load(std::memory_order_relaxed));
  if (!may_read_at_once(requested.mode, until, now, serving || received.count() != 0) ||
      machine_->locked_out_until(get->key)) // the remaining time is known only where cluster time is
    return std::nullopt;
  // These tables may lack committed entries that another server has already returned:
  // a read in the actor's mailbox is after these entries.
  if (requested.mode != http::consistency::stale && machine_->applied_index().value < vitals_.committed_index.load() &&
      !MUTANT(threads_read_behind_commit))
    return std::nullopt;
  read_result r{{}, machine_->evaluate(requested.query), 0, true};
  if (requested.mode == http::consistency::stale && !serving) {
    r.last_contact_ms = milliseconds_since(received, now);
    r.known_leader = has_leader_.load(std::memory_order_relaxed);
  }
  return r;
}

} // namespace belay::actors
