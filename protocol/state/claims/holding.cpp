#include "protocol/state/claims/holding.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/state/claims/asking.hpp"
#include "protocol/state/claims/claim_changes.hpp"
#include "protocol/state/claims/claim_reading.hpp"
#include "protocol/state/claims/refusals.hpp"
#include "protocol/state/claims/settling.hpp"
#include "protocol/state/claims/wait_search.hpp"

namespace belay::state {

namespace {

using refused = std::optional<claim_refusal>;

resource_name claims_named(const std::string& name) {
  return {name, claim_space::claims};
}

/// Why there is no claim with that id.
claim_refusal nothing_live(const tables& t, const resource_name& of, const std::string& id) {
  const auto end = t.claims.ends.find(of, id);
  if (!end)
    return refuse_claim(claim_error::unknown_claim, "unknown claim " + in_quotes(id));
  return refuse_ended(*end);
}

refused wrong_name_or_id(const std::string& name, const std::string& id) {
  if (name.empty())
    return wrong_parameter("name", "missing");
  if (!is_claim_id(id))
    return wrong_parameter("id", "1 to 64 printable characters without blanks");
  return std::nullopt;
}

/// The waiter that a claim is transferred to. Null: `why` has the reason.
claim_ptr receiver(const applying& a, const resource_name& of, const std::string& to, claim_refusal& why) {
  if (!to.empty() && !MUTANT(transfer_to_the_head)) {
    const auto waiter = a.t.claims.claims.find(of, to);
    if (waiter && waiter->state == claim_state::waiting && !is_past_deadline(*waiter, a.now) &&
        !is_disallowed(a, *waiter))
      return waiter;
    why = refuse_claim(claim_error::unknown_claim, "no claim " + in_quotes(to) + " waits");
    return nullptr;
  }
  if (const auto* line = a.t.claims.claims.line(of))
    for (const auto& [position, waiter] : line->queue)
      if (!is_past_deadline(*waiter, a.now) && !is_disallowed(a, *waiter))
        return waiter;
  why = refuse_claim(claim_error::no_waiter, "nobody waits");
  return nullptr;
}

} // namespace

std::optional<claim_refusal> wrong_with(const claim_release& c) {
  return wrong_name_or_id(c.name, c.id);
}
std::optional<claim_refusal> wrong_with(const claim_transfer& c) {
  if (!c.to.empty() && !is_claim_id(c.to))
    return wrong_parameter("to", "1 to 64 printable characters without blanks");
  return wrong_name_or_id(c.name, c.id);
}
std::optional<claim_refusal> wrong_with(const claim_mode_set& c) {
  return wrong_name_or_id(c.name, c.id);
}
std::optional<claim_refusal> wrong_with(const claim_limit_set& c) {
  if (c.name.empty())
    return wrong_parameter("name", "missing");
  if (c.limit < 1 || c.limit > claim_permits_max)
    return wrong_parameter("n", "1 to 1000000000");
  return std::nullopt;
}
std::optional<claim_refusal> wrong_with(const claim_limit_unset& c) {
  return c.name.empty() ? refused(wrong_parameter("name", "missing")) : std::nullopt;
}

reply apply_claims(applying& a, const claim_release& c) {
  const auto of = claims_named(c.name);
  if (const auto live = a.t.claims.claims.find(of, c.id))
    end_claim(a, *live, live->state == claim_state::held ? claim_end::released : claim_end::withdrawn);
  else if (!a.t.claims.ends.find(of, c.id)) {
    if (!end_fits(a, of, c.id, true))
      return ends_full();
    remember_unknown(a, of, c.id);
  }
  return true;
}

reply apply_claims(applying& a, const claim_transfer& c) {
  const auto of = claims_named(c.name);
  const auto holder = a.t.claims.claims.find(of, c.id);
  if (!holder)
    return nothing_live(a.t, of, c.id);
  const auto resource = a.t.claims.resources.find(of);
  INVARIANT(resource != nullptr);
  const auto kind = resource->kind;
  if (kind != claim_kind::lock && kind != claim_kind::election)
    return refuse_claim(claim_error::kind, in_quotes(c.name) + " is a " + std::string(name_of(kind)));
  if (holder->state != claim_state::held)
    return refuse_claim(claim_error::not_held, "claim " + in_quotes(c.id) + " waits itself");
  claim_refusal why;
  const auto next = receiver(a, of, c.to, why);
  if (!next)
    return why;
  const auto head = receiver(a, of, {}, why);
  const auto effects_before = static_cast<std::ptrdiff_t>(a.changed.size());
  a.t.log.start_recording();
  end_claim(a, *holder, claim_end::handed_over);
  const auto granted = grant_claim(a, *next);
  INVARIANT(granted != nullptr);
  // Waiters that it overtakes wait for it now.
  const bool overtakes = !c.to.empty() && next != head && !MUTANT(transfer_closes_cycle);
  auto found =
      overtakes ? find_cycle(a.t, {next->session, {}, true, next->refuse_deadlock, bound_of_search(a)}) : wait_cycle{};
  if (!found.edges.empty()) {
    PROBE("claims: a transfer that closes a cycle was refused");
    a.t.undo();
    INVARIANT(effects_before <= std::ssize(a.changed)); // effects are only appended
    a.changed.erase(a.changed.begin() + effects_before, a.changed.end());
    auto r = refuse_claim(claim_error::deadlock, "it would close a cycle");
    r.cycle = std::move(found.edges);
    return r;
  }
  a.t.log.discard_recording();
  auto answer = standing_of(a.t, *granted);
  answer.search_cut = found.cut;
  return answer;
}

reply apply_claims(applying& a, const claim_mode_set& c) {
  const auto of = claims_named(c.name);
  const auto claim = a.t.claims.claims.find(of, c.id);
  if (!claim)
    return nothing_live(a.t, of, c.id);
  const auto resource = a.t.claims.resources.find(of);
  INVARIANT(resource != nullptr);
  if (resource->kind != claim_kind::rw)
    return refuse_claim(claim_error::mode, "only rw has modes");
  if (claim->state != claim_state::held)
    return refuse_claim(claim_error::not_held, "claim " + in_quotes(c.id) + " waits");
  if (claim->mode == c.mode)
    return standing_of(a.t, *claim);
  if (c.mode == claim_mode::exclusive)
    return refuse_claim(claim_error::mode, "a shared claim cannot become exclusive");
  auto row = std::make_shared<claim_record>(*claim);
  row->mode = c.mode; // keeps the fencing token: the hold is not interrupted
  row->modify_index = a.index;
  a.t.claims.claims.put(row);
  resource_changed(a, of);
  return standing_of(a.t, *row);
}

reply apply_claims(applying& a, const claim_limit_set& c) {
  const auto of = claims_named(c.name);
  const auto known = a.t.claims.resources.find(of);
  if (known && known->kind != claim_kind::semaphore)
    return refuse_claim(claim_error::kind, in_quotes(c.name) + " is a " + std::string(name_of(known->kind)));
  if (known && known->pinned && known->limit == c.limit)
    return true;
  if (!known)
    open_resource(a, of, claim_kind::semaphore, c.limit);
  auto row = std::make_shared<claim_resource>(*a.t.claims.resources.find(of));
  row->limit = c.limit;
  row->pinned = true;
  row->limit_open = false;
  a.t.claims.resources.put(std::move(row));
  end_too_large(a, of, c.limit);
  resource_changed(a, of);
  return true;
}

reply apply_claims(applying& a, const claim_limit_unset& c) {
  const auto of = claims_named(c.name);
  const auto known = a.t.claims.resources.find(of);
  if (!known || !known->pinned)
    return true;
  auto row = std::make_shared<claim_resource>(*known);
  row->pinned = false;
  row->limit_open = a.scope.has_value() && !MUTANT(unpinned_limit_stays);
  a.t.claims.resources.put(std::move(row));
  resource_changed(a, of);
  return true;
}

} // namespace belay::state
