#include "protocol/state/claims/settling.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/state/acl/later_permissions.hpp"
#include "protocol/state/claims/claim_changes.hpp"
#include "protocol/state/claims/grant_rule.hpp"
#include "protocol/state/claims/guarding.hpp"
#include "protocol/state/keys/key_operations.hpp"

namespace belay::state {

namespace {

// Lock delays to examine, earliest first, for one with waiters. If none has, the alarm is for
// the last of them: too early, and then the next are examined. More would slow down every entry.
constexpr int delays_looked_at_max = 16;

// Waiters authorized again, and resources skipped, after a policy change: about 1 ms of an entry.
constexpr std::size_t disallowed_looked_at_max = 1'000;

void end_disallowed(applying& a, const claim_record& waiter) {
  PROBE("claims: a waiter that may no longer write left the queue");
  end_claim(a, waiter, claim_end::withdrawn, std::string(permission_denied));
}

enum class due_kind : std::uint8_t { wait, ghost, delay, end };

struct due_item {
  cluster_time at;
  due_kind what;
  bool operator<(const due_item& other) const { return std::pair(at, what) < std::pair(other.at, other.what); }
};

std::optional<due_item> first_due(const tables& t) {
  std::optional<due_item> first;
  const auto offer = [&](cluster_time at, due_kind what) {
    if (const due_item item{at, what}; !first || item < *first)
      first = item;
  };
  if (const auto waiter = t.claims.claims.first_due())
    offer(waiter->deadline, due_kind::wait);
  if (const auto* ghost = t.claims.ghosts.first_due())
    offer(ghost->until, due_kind::ghost);
  if (!t.delays.by_time().empty())
    offer(t.delays.by_time().begin()->first, due_kind::delay);
  if (const auto end = t.claims.ends.first_due())
    offer(end->until, due_kind::end);
  return first;
}

void end_first(applying& a, due_kind what) {
  auto& t = a.t;
  switch (what) {
  case due_kind::wait:
    PROBE("claims: a wait reached its deadline");
    return end_claim(a, *t.claims.claims.first_due(), claim_end::deadline);
  case due_kind::ghost: {
    PROBE("claims: a ghost is over");
    const auto ghost = *t.claims.ghosts.first_due();
    t.claims.ghosts.erase(ghost.key);
    return resource_changed(a, ghost.of);
  }
  case due_kind::delay: {
    const auto key = t.delays.by_time().begin()->second;
    t.delays.erase(key);
    return a.look_at_lock(key);
  }
  case due_kind::end:
    PROBE("claims: an ended id is forgotten");
    return t.claims.ends.erase(std::string(t.claims.ends.first_due()->key));
  }
}

/// The next waiter to grant of a queue whose head is before its deadline. Null: none.
claim_ptr next_of(const applying& a, const resource_name& of, const claim_line& line) {
  PRECONDITION(!line.queue.empty());
  if (of.space == claim_space::keys)
    return lock_is_free(a, of.name) ? line.queue.begin()->second : nullptr;
  const auto resource = a.t.claims.resources.find(of);
  INVARIANT(resource != nullptr);
  const resource_shape shape{resource->kind, resource->limit};
  auto taken = line.held;
  taken.add(MUTANT(ghosts_not_looked_at) ? occupancy{} : a.t.claims.ghosts.of(of));
  return next_to_grant(shape, taken, line.queue);
}

void let_in(applying& a, const resource_name& of) {
  for (;;) {
    const auto* line = a.t.claims.claims.line(of);
    if (line == nullptr || line->queue.empty())
      return;
    const auto head = line->queue.begin()->second;
    if (is_past_deadline(*head, a.now) && !MUTANT(claim_granted_past_deadline)) {
      if (a.due_left == 0)
        return; // the next entry ends it, too, and checks this queue then
      --a.due_left;
      end_claim(a, *head, claim_end::deadline);
      continue;
    }
    if (is_disallowed(a, *head)) {
      end_disallowed(a, *head);
      continue;
    }
    const auto next = next_of(a, of, *line);
    if (!next) {
      if (of.space == claim_space::keys) // its holder has changed, and so has the wait-for graph
        a.changed.push_back(claim_changed{of});
      return;
    }
    if (guard_against_grant(a.t, *next) != nullptr && !MUTANT(grant_ignores_guards)) {
      PROBE("claims: a waiter that a guard blocks left the queue");
      end_claim(a, *next, claim_end::withdrawn, "guarded");
      continue;
    }
    grant_claim(a, *next);
  }
}

} // namespace

void end_what_is_due(applying& a) {
  if (!a.claims_in_use())
    return a.t.delays.expire(a.now);
  while (a.due_left != 0 || MUTANT(due_without_bound)) {
    const auto first = first_due(a.t);
    if (!first || first->at > a.now)
      return;
    a.due_left -= std::min<std::uint64_t>(a.due_left, 1);
    end_first(a, first->what);
  }
  PROBE("claims: more is due than one entry ends");
}

bool is_disallowed(const applying& a, const claim_record& waiter) {
  return !may_still_write(a.t, waiter.by, a.now, waiter.of.name) && !MUTANT(waiter_outlives_token);
}

void end_disallowed(applying& a) {
  std::vector<claim_ptr> disallowed;
  std::size_t looked_at = 0;
  a.t.claims.claims.for_each_line_while([&](const claim_line& line) {
    ++looked_at;
    for (const auto& [position, waiter] : line.queue) {
      if (++looked_at > disallowed_looked_at_max)
        break;
      if (is_disallowed(a, *waiter))
        disallowed.push_back(waiter);
    }
    return looked_at < disallowed_looked_at_max;
  });
  for (const auto& waiter : disallowed)
    end_disallowed(a, *waiter);
}

void let_in(applying& a) {
  // Granting touches the resource itself again, and no other.
  for (const auto& of : std::exchange(a.touched, {}))
    let_in(a, of);
  a.touched.clear();
}

std::optional<cluster_time> next_alarm(const tables& t) {
  std::optional<cluster_time> first;
  const auto offer = [&](cluster_time at) { first = first ? std::min(*first, at) : at; };
  if (const auto waiter = t.claims.claims.first_due())
    offer(waiter->deadline);
  if (const auto* ghost = t.claims.ghosts.first_due())
    offer(ghost->until);
  if (t.claims.claims.waiters() == 0)
    return first;
  int looked_at = 0;
  for (const auto& [until, key] : t.delays.by_time())
    if (++looked_at == delays_looked_at_max || t.claims.claims.line({key, claim_space::keys}) != nullptr) {
      offer(until);
      break;
    }
  return first;
}

} // namespace belay::state
