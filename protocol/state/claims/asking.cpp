#include "protocol/state/claims/asking.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/empty_payload.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/state/claims/claim_changes.hpp"
#include "protocol/state/claims/claim_reading.hpp"
#include "protocol/state/claims/grant_rule.hpp"
#include "protocol/state/claims/guarding.hpp"
#include "protocol/state/claims/refusals.hpp"
#include "protocol/state/claims/settling.hpp"
#include "protocol/state/claims/wait_search.hpp"
#include "protocol/state/keys/key_operations.hpp"

#include <algorithm>

namespace belay::state {

namespace {

using refused = std::optional<claim_refusal>;

bool is_in(std::uint64_t n, std::uint64_t least, std::uint64_t most) {
  return n >= least && n <= most;
}

claim_refusal ended(const claim_end_record& end) {
  auto r = refuse_ended(end);
  if (!end.cause.empty())
    r.text += " (" + end.cause + ")";
  return r;
}

// ---- limits

/// Why another waiter would exceed a limit. `before`: the waiter that it replaces; null: none.
refused over_limit(const tables& t, const claim_record& c, const claim_record* before) {
  if (c.value->size() > claim_value_bytes_max)
    return refuse_claim(claim_error::value_size, "Value is too large (" + std::to_string(c.value->size()) + " > " +
                                                     std::to_string(claim_value_bytes_max) + " bytes)");
  const auto* line = t.claims.claims.line(c.of);
  if (before == nullptr && line != nullptr && line->queue.size() >= waiters_max)
    return refuse_claim(claim_error::queue_full, "queue of " + in_quotes(c.of.name) + " is full");
  INVARIANT(before == nullptr || t.claims.claims.queued_bytes() >= queued_bytes_of(*before));
  const auto without = t.claims.claims.queued_bytes() - (before != nullptr ? queued_bytes_of(*before) : 0);
  if (without + queued_bytes_of(c) > queued_bytes_max)
    return refuse_claim(claim_error::bytes_full, "too much is queued already");
  return std::nullopt;
}

// ---- deadlocks

claim_refusal deadlock(std::string text, std::vector<wait_edge> cycle) {
  auto r = refuse_claim(claim_error::deadlock, std::move(text));
  r.cycle = std::move(cycle);
  return r;
}

/// Inserts the waiter, unless that closes a cycle and it requested `deadlock=refuse`.
/// @param granted_now it does not have to wait
refused take_in(applying& a, std::shared_ptr<claim_record> c, bool granted_now, bool& search_cut) {
  PRECONDITION(c->state == claim_state::waiting);
  const auto key = c->key;
  const auto session = c->session;
  const bool looks = c->refuse_deadlock && !MUTANT(deadlock_not_looked_for);
  a.t.log.start_recording();
  a.t.claims.claims.put(std::move(c));
  auto found = looks ? find_cycle(a.t, {session, granted_now ? std::string_view(key) : std::string_view(), false, false,
                                        bound_of_search(a)})
                     : wait_cycle{};
  search_cut = found.cut;
  if (found.edges.empty()) {
    a.t.log.discard_recording();
    return std::nullopt;
  }
  PROBE("claims: a deadlock was refused");
  a.t.undo();
  return deadlock("it would wait for itself", std::move(found.edges));
}

// ---- claims

struct wanted_shape {
  claim_kind kind;
  std::uint64_t limit;
  claim_mode mode;
  std::uint64_t permits;
};

/// docs/reference/claims.md, rules 2 to 4, in the order of docs/internals/adr/0016.
refused shape_of(const claim_ask& c, const claim_resource* known, wanted_shape& out) {
  out.kind = known != nullptr ? known->kind : c.kind.value_or(claim_kind::lock);
  if (c.kind && *c.kind != out.kind)
    return refuse_claim(claim_error::kind, in_quotes(c.name) + " is a " + std::string(name_of(out.kind)));
  const bool semaphore = out.kind == claim_kind::semaphore;
  if (c.permits && !semaphore)
    return wrong_parameter("permits", "only semaphores have permits");
  if (c.limit && !semaphore)
    return wrong_parameter("limit", "only semaphores have a limit");
  if (c.mode && out.kind != claim_kind::rw)
    return wrong_parameter("mode", "only rw has modes");
  out.mode = c.mode.value_or(claim_mode::exclusive);
  out.permits = c.permits.value_or(1);
  out.limit = 0;
  if (!semaphore)
    return std::nullopt;
  if (known == nullptr && !c.limit)
    return wrong_parameter("limit", "missing limit of a new semaphore");
  const bool open = known != nullptr && known->limit_open && c.limit;
  if (known != nullptr && !known->pinned && !open && c.limit && *c.limit != known->limit)
    return refuse_claim(claim_error::limit, "limit of " + in_quotes(c.name) + " is " + std::to_string(known->limit));
  out.limit = known != nullptr && !open ? known->limit : *c.limit;
  if (out.permits > out.limit)
    return wrong_parameter("permits", "more permits than the limit of " + std::to_string(out.limit));
  return std::nullopt;
}

/// Rule 8.
refused excluded_by_own(const tables& t, const resource_name& of, const std::string& session,
                        const wanted_shape& shape) {
  if (!excludes_itself({shape.kind, shape.limit}, t.claims.claims.own(session, of), shape.mode, shape.permits))
    return std::nullopt;
  std::vector<wait_edge> cycle;
  if (const auto first = t.claims.claims.first_of_session(session, of))
    cycle.push_back({session, first->id, of, false, session, first->state == claim_state::held});
  return deadlock("the session has a claim on " + in_quotes(of.name) + " that excludes this one", std::move(cycle));
}

/// Whether the claim would be granted at once.
bool fits_at_once(const tables& t, const claim_record& c, const wanted_shape& shape) {
  const auto* line = t.claims.claims.line(c.of);
  if (line != nullptr && !line->queue.empty() && line->queue.begin()->first < position_of(c))
    return false;
  auto taken = line != nullptr ? line->held : occupancy{};
  taken.add(t.claims.ghosts.of(c.of));
  return fits({shape.kind, shape.limit}, taken, c.mode, c.permits);
}

/// The standing of a claim, or how it ended in this entry.
/// @pre the grant rule was applied
reply standing_after(const tables& t, const resource_name& of, const std::string& id, bool search_cut) {
  const auto claim = t.claims.claims.find(of, id);
  if (!claim) { // this entry took the permission of its earlier requester, who counts if it has no address
    const auto end = t.claims.ends.find(of, id);
    INVARIANT(end != nullptr); // its deadline is after this entry
    return ended(*end);
  }
  auto answer = standing_of(t, *claim);
  answer.search_cut = search_cut;
  return answer;
}

/// Applies the grant rule, and returns the reply for the requester.
reply answered(applying& a, const resource_name& of, const std::string& id, bool search_cut) {
  let_in(a);
  return standing_after(a.t, of, id, search_cut);
}

std::shared_ptr<claim_record> new_waiter(applying& a, const resource_name& of, const std::string& id,
                                         const std::string& session) {
  auto row = std::make_shared<claim_record>();
  row->key = claim_key(of.space, of.name, id);
  row->of = of;
  row->id = id;
  row->session = session;
  row->scope = a.scope.value_or("");
  row->by = a.by;
  row->requested = a.now;
  row->create_index = row->modify_index = a.index;
  return row;
}

cluster_time deadline_after(const applying& a, std::uint64_t length_ms) {
  return cluster_time{length_ms == 0 ? 0 : a.now.value + length_ms};
}

} // namespace

bool is_claim_id(std::string_view id) {
  return !id.empty() && id.size() <= claim_id_bytes_max &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c <= '~'; });
}

std::optional<claim_refusal> wrong_with(const claim_ask& c) {
  if (c.name.empty())
    return wrong_parameter("name", "missing");
  if (c.session.empty())
    return wrong_parameter("session", "missing");
  if (!c.id.empty() && !is_claim_id(c.id))
    return wrong_parameter("id", "1 to 64 printable characters without blanks");
  if (c.priority > claim_priority_max)
    return wrong_parameter("priority", "0 to 255");
  if (c.permits && !is_in(*c.permits, 1, claim_permits_max))
    return wrong_parameter("permits", "1 to 1000000000");
  if (c.limit && !is_in(*c.limit, 1, claim_permits_max))
    return wrong_parameter("limit", "1 to 1000000000");
  if (c.deadline_ms > claim_deadline_ms_max)
    return wrong_parameter("deadline", "at most 366 days");
  return std::nullopt;
}

std::optional<claim_refusal> wrong_with(const kv_acquire& c) {
  if (c.op.verb != kv_verb::lock)
    return wrong_parameter("wait", "only of an acquire");
  if (c.wait_ms > claim_deadline_ms_max)
    return wrong_parameter("wait", "at most 366 days");
  return std::nullopt;
}

namespace {

/// Rule 3: claims set the limit again.
void close_limit(applying& a, const claim_resource& known, std::uint64_t limit) {
  PROBE("claims: a claim sets a limit that was set by itself before");
  auto row = std::make_shared<claim_resource>(known);
  row->limit = limit;
  row->limit_open = false;
  const auto of = row->of;
  a.t.claims.resources.put(std::move(row));
  end_too_large(a, of, limit);
}

} // namespace

namespace {

/// A waiting claim was requested again: its newest requester counts when it is authorized again.
void requested_again(applying& a, const claim_ptr& live) {
  if (!a.scope || live->state != claim_state::waiting || live->by == a.by)
    return;
  auto row = std::make_shared<claim_record>(*live);
  row->by = a.by;
  a.t.claims.claims.put(std::move(row));
}

} // namespace

reply apply_claims(applying& a, const claim_ask& c) {
  const auto session = a.t.sessions.find(c.session);
  if (!session)
    return refuse_claim(claim_error::unknown_session, "unknown session " + in_quotes(c.session));
  const resource_name of{c.name, claim_space::claims};
  const auto& id = c.id.empty() ? session->id : c.id;
  if (const auto end = a.t.claims.ends.find(of, id); end && !MUTANT(ended_id_taken_again)) {
    PROBE("claims: an id that has ended was asked for");
    return ended(*end);
  }
  if (const auto live = a.t.claims.claims.find(of, id)) {
    if (live->session != session->id)
      return refuse_claim(claim_error::id, "claim " + in_quotes(id) + " is of another session");
    requested_again(a, live);
    return answered(a, of, id, false);
  }
  const auto known = a.t.claims.resources.find(of);
  wanted_shape shape{};
  if (auto wrong = shape_of(c, known.get(), shape))
    return std::move(*wrong);
  if (auto wrong = excluded_by_own(a.t, of, session->id, shape))
    return std::move(*wrong);
  if (!end_fits(a, of, id, !c.id.empty()))
    return ends_full();
  auto row = new_waiter(a, of, id, session->id);
  row->mode = shape.mode;
  row->permits = shape.permits;
  row->priority = c.priority;
  row->value = c.value ? c.value : empty_payload();
  row->refuse_deadlock = c.refuse_deadlock;
  row->deadline = deadline_after(a, c.deadline_ms);
  row->ticket = a.t.indexes.at(index_kind::last_ticket).next().value;
  const auto ticket = row->ticket;
  const bool at_once = fits_at_once(a.t, *row, shape);
  if (at_once && row->value->size() <= claim_value_bytes_max)
    PROBE("claims: granted at once");
  else if (auto wrong = over_limit(a.t, *row, nullptr))
    return std::move(*wrong);
  bool search_cut = false;
  if (auto wrong = take_in(a, std::move(row), at_once, search_cut))
    return std::move(*wrong);
  const auto taken = next_ticket(a);
  INVARIANT(taken == ticket);
  if (!known)
    open_resource(a, of, shape.kind, shape.limit);
  else if (known->limit_open && c.limit)
    close_limit(a, *known, shape.limit);
  resource_changed(a, of);
  return answered(a, of, id, search_cut);
}

// ---- locks of keys

namespace {

/// Reply to an acquire that need not wait, or comes from the holder.
reply acquired(const key_result& r) {
  INVARIANT(r.entry);
  reply yes(true);
  yes.note.fence = r.entry->fence;
  return yes;
}

/// A restore may leave a lock delay beside a holder. Rejects all (docs/contract/04, section 3.5).
reply delayed(const key_result& r) {
  INVARIANT(r.outcome == key_outcome::lock_delay); // lock_is_free() and write_key() agree on all else
  PROBE("kv: a lock delay beside its holder");
  reply no(false);
  no.note.why = refused_for::lock_delay;
  no.note.retry_after_ms = r.wait_ms;
  return no;
}

reply wait_for_lock(applying& a, const kv_acquire& c, const std::string& session) {
  const resource_name of{c.op.key, claim_space::keys};
  const auto before = a.t.claims.claims.find(of, session);
  auto row = before ? std::make_shared<claim_record>(*before) : new_waiter(a, of, session, session);
  row->value = c.op.value ? c.op.value : empty_payload();
  row->flags = c.op.flags;
  row->refuse_deadlock = c.refuse_deadlock;
  row->deadline = deadline_after(a, c.wait_ms);
  row->modify_index = a.index;
  if (a.scope)
    row->by = a.by;
  if (const auto* guard = guard_against_grant(a.t, *row))
    return guarded(c.op, *guard);
  const bool first = !before || MUTANT(asked_again_loses_place);
  if (first && !end_fits(a, of, session, false))
    return ends_full();
  if (first)
    row->ticket = a.t.indexes.at(index_kind::last_ticket).next().value;
  if (auto wrong = over_limit(a.t, *row, before.get()))
    return std::move(*wrong);
  const auto ticket = row->ticket;
  bool search_cut = false;
  if (auto wrong = take_in(a, std::move(row), false, search_cut))
    return std::move(*wrong);
  if (first) {
    const auto taken = next_ticket(a);
    INVARIANT(taken == ticket);
  }
  a.t.claims.ends.erase(claim_key(of.space, of.name, session)); // end of an earlier wait
  resource_changed(a, of);
  let_in(a);
  if (const auto entry = a.t.kv.find(of.name); entry && entry->session == session)
    return acquired({key_outcome::done, entry});
  return standing_after(a.t, of, session, search_cut);
}

} // namespace

reply apply_claims(applying& a, const kv_acquire& c) {
  if (auto wrong = session_id_error(c.op.session))
    return refusal{std::move(*wrong)};
  const auto session = a.t.sessions.find(c.op.session);
  if (!session)
    return refusal{"invalid session \"" + c.op.session + "\""};
  const auto entry = a.t.kv.find(c.op.key);
  const bool own = entry && entry->session == session->id;
  if (own || (lock_is_free(a, c.op.key) && !a.lock_is_awaited(c.op.key)))
    if (const auto r = write_key(a, c.op); r.outcome == key_outcome::done || !MUTANT(holder_queues_in_delay))
      return r.outcome == key_outcome::done ? acquired(r) : delayed(r);
  PROBE("kv: an acquire waits in the queue");
  return wait_for_lock(a, c, session->id);
}

void leave_queue(applying& a, const std::string& key, std::string_view session) {
  if (!a.lock_is_awaited(key))
    return;
  if (const auto waiter = a.t.claims.claims.find({key, claim_space::keys}, folded(session)))
    end_claim(a, *waiter, claim_end::withdrawn);
}

std::optional<claim_refusal> wrong_with(const waits_withdraw& c) {
  if (c.waits.size() > withdrawn_at_once_max)
    return wrong_parameter("waits", "at most 1000");
  return std::nullopt;
}

reply apply_claims(applying& a, const waits_withdraw& c) {
  for (const auto& wait : c.waits) {
    auto waiter = a.t.claims.claims.find({wait.key, claim_space::keys}, folded(wait.session));
    if (!waiter && MUTANT(disconnect_withdraws_claims))
      waiter = a.t.claims.claims.find({wait.key, claim_space::claims}, wait.session);
    if (!waiter || waiter->state != claim_state::waiting)
      PROBE("claims: a wait whose client disconnected is over already");
    else if (waiter->modify_index != wait.requested_at && !MUTANT(renewed_wait_withdrawn))
      PROBE("claims: a wait whose client disconnected was asked for again");
    else {
      PROBE("claims: a wait whose client disconnected is withdrawn");
      end_claim(a, *waiter, claim_end::withdrawn, std::string(client_disconnected));
    }
  }
  return true;
}

} // namespace belay::state
