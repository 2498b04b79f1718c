#include "protocol/state/claims/session_claims.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/state/acl/later_permissions.hpp"
#include "protocol/state/claims/claim_changes.hpp"
#include "protocol/state/claims/guarding.hpp"
#include "protocol/state/claims/refusals.hpp"
#include "protocol/state/keys/key_operations.hpp"

namespace belay::state {

namespace {

/// docs/reference/claims.md, rule 19: other verbs read, acquire locks, or would run recursively.
bool may_be_left(kv_verb verb) {
  switch (verb) {
  case kv_verb::set:
  case kv_verb::cas:
  case kv_verb::remove:
  case kv_verb::remove_cas:
  case kv_verb::remove_tree:
  case kv_verb::add:
    return true;
  default:
    return false;
  }
}

void leave_ghost(applying& a, const claim_record& c, cluster_time until) {
  PRECONDITION(c.state == claim_state::held);
  PRECONDITION(until > a.now);
  PROBE("claims: a ghost begins");
  claim_ghost g;
  g.key = ghost_key(c.of.space, c.of.name, c.fence);
  g.of = c.of;
  g.id = c.id;
  g.session = c.session;
  g.mode = c.mode;
  const auto resource = a.t.claims.resources.find(c.of);
  g.permits = MUTANT(ghost_withholds_everything) ? std::max(resource->limit, c.permits) : c.permits;
  g.fence = c.fence;
  g.until = until;
  a.t.claims.ghosts.put(std::make_shared<const claim_ghost>(std::move(g)));
}

} // namespace

std::optional<claim_refusal> wrong_with(const session_begin& c) {
  if (c.ttl_mode == session_ttl_mode::exact && c.session.ttl_ns < exact_ttl_ns_min)
    return wrong_parameter("TTL", "an exact TTL is at least 100ms");
  if (c.on_end.size() > on_end_ops_max)
    return wrong_parameter("OnEnd", "more than 64 operations");
  std::size_t bytes = 0;
  for (const auto& op : c.on_end) {
    bytes += op.key.size() + (op.value ? op.value->size() : 0);
    if (!may_be_left(op.verb))
      return wrong_parameter("OnEnd", "verb " + std::string(name_of(op.verb)) + " is not possible");
    if (op.key.empty() && op.verb != kv_verb::remove_tree)
      return wrong_parameter("OnEnd", "missing key");
  }
  if (bytes > on_end_bytes_max)
    return wrong_parameter("OnEnd", "more than 64 KiB");
  return std::nullopt;
}

void do_on_end(applying& a, const session_record& s, ended_session& row) {
  for (const auto& op : s.on_end) {
    const bool guarded = guard_against_session(a.t, op, s.id) != nullptr && !MUTANT(guard_lets_on_end_pass);
    const bool stopped = row.on_end_refused != 0 && MUTANT(on_end_stops_at_refusal);
    const bool allowed = may_still_run(a.t, s.by, a.now, op);
    const bool done = allowed && !guarded && !stopped && write_key(a, op).outcome == key_outcome::done;
    ++(done ? row.on_end_done : row.on_end_refused);
  }
  if (!s.on_end.empty())
    PROBE("claims: OnEnd was done");
}

void end_claims_of(applying& a, const session_record& s, ended_session& row) {
  if (!a.t.claims.claims.has_session(s.id))
    return;
  const auto delayed_until = delay_end(s, a.now);
  for (const auto& c : a.t.claims.claims.of_session(s.id)) {
    const bool held = c->state == claim_state::held;
    if (held)
      note_released(row, c->of);
    if (held && delayed_until)
      leave_ghost(a, *c, *delayed_until);
    if (held || !MUTANT(claim_of_dead_session_stays))
      end_claim(a, *c, claim_end::session, row.cause);
  }
}

void note_released(ended_session& row, const resource_name& of) {
  ++row.released_count;
  if (row.released.size() < ended_session_names_max)
    row.released.push_back(of);
}

} // namespace belay::state
