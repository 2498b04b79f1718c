#include "protocol/state/claims/claim_changes.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/state/keys/key_operations.hpp"

namespace belay::state {

namespace {

bool has_reason(const tables& t, const resource_name& of, const claim_resource* resource) {
  return t.claims.claims.line(of) != nullptr || !t.claims.ghosts.of(of).empty() ||
         (resource != nullptr && resource->pinned);
}

void remember(applying& a, claim_end_record end) {
  end.key = claim_key(end.of.space, end.of.name, end.id);
  end.index = a.index;
  end.until.value = a.now.value + claim_end_ms;
  a.t.claims.ends.put(std::make_shared<const claim_end_record>(std::move(end)));
  a.t.claims.ends.bound();
}

} // namespace

void resource_changed(applying& a, const resource_name& of) {
  a.touched.insert(of);
  a.t.indexes.set(index_kind::claims, a.index);
  const auto known = a.t.claims.resources.find(of);
  const bool already_noted = known && known->modify_index == a.index;
  if (!has_reason(a.t, of, known.get())) {
    if (known)
      a.t.claims.resources.erase(known->key);
  } else if (!already_noted) {
    INVARIANT(known || of.space == claim_space::keys);
    auto row = known ? std::make_shared<claim_resource>(*known) : std::make_shared<claim_resource>();
    if (!known) {
      row->key = resource_key(of.space, of.name);
      row->of = of;
      row->create_index = a.index;
    }
    row->modify_index = a.index;
    a.t.claims.resources.put(std::move(row));
  }
  if (!already_noted)
    a.changed.push_back(claim_changed{of});
}

void open_resource(applying& a, const resource_name& of, claim_kind kind, std::uint64_t limit) {
  PRECONDITION(!a.t.claims.resources.find(of));
  PRECONDITION((kind == claim_kind::semaphore) == (limit != 0));
  auto row = std::make_shared<claim_resource>();
  row->key = resource_key(of.space, of.name);
  row->of = of;
  row->kind = kind;
  row->limit = limit;
  row->create_index = a.index;
  a.t.claims.resources.put(std::move(row));
}

std::uint64_t next_ticket(applying& a) {
  const auto ticket = a.t.indexes.at(index_kind::last_ticket).next();
  a.t.indexes.set(index_kind::last_ticket, ticket);
  return ticket.value;
}

claim_ptr grant_claim(applying& a, const claim_record& waiter) {
  PRECONDITION(waiter.state == claim_state::waiting);
  const auto of = waiter.of;
  const auto waiters = a.t.claims.claims.waiters(), holders = a.t.claims.claims.holders();
  claim_granted already_noted{of, waiter.id, waiter.session, 0, a.index};
  claim_ptr granted;
  if (of.space == claim_space::keys) {
    const claim_record requested = waiter; // a copy: the row is removed
    a.t.claims.claims.erase(requested.key);
    already_noted.fence = grant_lock(a, requested);
  } else {
    auto row = std::make_shared<claim_record>(waiter);
    row->state = claim_state::held;
    row->fence = already_noted.fence = a.new_fence();
    row->granted = a.now;
    row->deadline = {};
    row->modify_index = a.index;
    granted = row;
    a.t.claims.claims.put(std::move(row));
  }
  INVARIANT(a.t.claims.claims.waiters() + 1 == waiters); // a holder does not wait
  INVARIANT(a.t.claims.claims.holders() == holders + (granted != nullptr ? 1U : 0U));
  resource_changed(a, of);
  a.changed.push_back(std::move(already_noted));
  return granted;
}

void end_claim(applying& a, const claim_record& c, claim_end why, const std::string& cause) {
  const claim_record old = c; // a copy: the row is removed
  const auto claims_before = a.t.claims.claims.rows().size();
  a.t.claims.claims.erase(old.key);
  INVARIANT(a.t.claims.claims.rows().size() + 1 == claims_before); // a claim ends once
  claim_end_record end;
  end.of = old.of;
  end.id = old.id;
  end.session = old.session;
  end.why = why;
  end.cause = cause;
  end.scope = old.scope;
  remember(a, std::move(end));
  resource_changed(a, old.of);
  a.changed.push_back(claim_ended{old.of, old.id, old.session, why, cause, old.state == claim_state::waiting, a.index});
}

bool end_fits(const applying& a, const resource_name& of, std::string_view id, bool own_id) {
  return !a.scope || !a.t.claims.shares.is_full(*a.scope, claim_end_bytes(of, id, *a.scope), own_id);
}

void end_too_large(applying& a, const resource_name& of, std::uint64_t limit) {
  std::vector<claim_ptr> too_large;
  if (const auto* line = a.t.claims.claims.line(of))
    for (const auto& [position, waiter] : line->queue)
      if (waiter->permits > limit && !MUTANT(shrunk_limit_keeps_waiters))
        too_large.push_back(waiter);
  for (const auto& waiter : too_large)
    end_claim(a, *waiter, claim_end::limit);
}

void remember_unknown(applying& a, const resource_name& of, const std::string& id) {
  PROBE("claims: an id was given up before it was asked for");
  claim_end_record end;
  end.of = of;
  end.id = id;
  end.why = claim_end::withdrawn;
  end.scope = a.scope.value_or("");
  remember(a, std::move(end));
}

} // namespace belay::state
