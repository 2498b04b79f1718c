#include "protocol/state/restore/restored_claims.hpp"

#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/state/claims/claim_changes.hpp"
#include "protocol/state/claims/grant_rule.hpp"
#include "protocol/state/claims/session_claims.hpp"
#include "protocol/state/claims/settling.hpp"
#include "protocol/state/keys/key_operations.hpp"

#include <algorithm>

namespace belay::state {

namespace {

// docs/contract/04, section 3.5: the longest lock delay. Another cluster's clock may be ahead.
constexpr std::uint64_t ghost_ms_max = 60'000;

/// Limits `t` to `now` + `length`, whatever the clock of the archive's cluster.
cluster_time at_most(cluster_time t, cluster_time now, std::uint64_t length_ms) {
  return cluster_time{std::min(t.value, now.value + length_ms)};
}

} // namespace

bool claims_restorer::take(const dirty_row& row) {
  if (const auto* c = std::get_if<claim_ptr>(&row.row))
    claims_.push_back(*c);
  else if (const auto* r = std::get_if<claim_resource_ptr>(&row.row))
    resources_[(*r)->of] = *r;
  else if (const auto* g = std::get_if<claim_ghost_ptr>(&row.row))
    ghosts_.push_back(*g);
  else if (const auto* e = std::get_if<claim_end_ptr>(&row.row))
    ends_.push_back(*e);
  else if (const auto* guard = std::get_if<guard_ptr>(&row.row))
    guards_.push_back(*guard);
  else if (const auto* ended = std::get_if<ended_session_ptr>(&row.row))
    ended_.push_back(*ended);
  else
    return false;
  return true;
}

bool claims_restorer::in_use() const {
  return !old_.indexes.at(index_kind::claims).is_zero() || !fresh_.indexes.at(index_kind::claims).is_zero();
}

void claims_restorer::run(applying& a) {
  ends(a);
  guards();
  resources(a);
  ghosts(a);
  holders(a);
  waiters(a);
  later_claims(a);
  ended_sessions(a);
  fresh_.claims.resources.rows().for_each_under("", [&](const claim_resource_ptr& r) { a.touched.insert(r->of); });
  let_in(a);
}

void claims_restorer::ends(const applying& a) {
  const auto keep = [&](const claim_end_ptr& e) {
    auto row = std::make_shared<claim_end_record>(*e);
    row->until = at_most(e->until, a.now, claim_end_ms);
    row->index = std::min(e->index, a.index);
    if (row->until > a.now)
      fresh_.claims.ends.put(std::move(row));
  };
  for (const auto& e : ends_)
    keep(e);
  constexpr std::string_view all = "", none = "none"; // keys begin with other letters
  old_.claims.ends.rows().for_each_under(MUTANT(restore_forgets_ended_claims) ? none : all, keep);
  fresh_.claims.ends.bound();
}

void claims_restorer::guards() {
  for (auto& g : guards_)
    if (fresh_.claims.guards.around(g->prefix).empty() &&
        fresh_.claims.guards.size() < (g->scope.empty() ? guards_max : client_guards_max))
      fresh_.claims.guards.put(std::move(g));
}

/// Those with a fixed limit; others are created with their holders and waiters.
void claims_restorer::resources(const applying& a) {
  for (const auto& [of, r] : resources_)
    if (r->pinned && r->kind == claim_kind::semaphore && of.space == claim_space::claims)
      (void)shape_of(a, of);
}

/// The resource's row; created if missing: from the archive, else from the current one.
claim_resource_ptr claims_restorer::shape_of(const applying& a, const resource_name& of) {
  if (auto there = fresh_.claims.resources.find(of))
    return there;
  const auto archived = resources_.find(of);
  const auto known = archived != resources_.end() ? archived->second : old_.claims.resources.find(of);
  auto row = std::make_shared<claim_resource>();
  row->key = resource_key(of.space, of.name);
  row->of = of;
  if (known && of.space == claim_space::claims) {
    row->kind = known->kind;
    row->limit =
        known->kind == claim_kind::semaphore ? std::clamp<std::uint64_t>(known->limit, 1, claim_permits_max) : 0;
    row->pinned = archived != resources_.end() && known->pinned && known->kind == claim_kind::semaphore;
    row->limit_open = known->limit_open && known->kind == claim_kind::semaphore;
  }
  row->create_index = known ? std::min(known->create_index, a.index) : a.index;
  row->modify_index = a.index;
  fresh_.claims.resources.put(row);
  return row;
}

void claims_restorer::ghosts(const applying& a) {
  const auto keep = [&](const claim_ghost_ptr& known) {
    auto g = std::make_shared<claim_ghost>(*known);
    g->until = MUTANT(restored_ghost_keeps_its_end) ? g->until : at_most(g->until, a.now, ghost_ms_max);
    if (g->until <= a.now || g->of.space != claim_space::claims)
      return;
    (void)shape_of(a, g->of);
    fresh_.claims.ghosts.put(std::move(g));
  };
  for (const auto& g : ghosts_)
    keep(g);
  old_.claims.ghosts.rows().for_each_under("", keep);
}

/// Whether it has not ended since, and its session was restored.
bool claims_restorer::may_return(const claim_record& c) const {
  return fresh_.sessions.rows().find(c.session) != nullptr && !fresh_.claims.ends.find(c.of, c.id) &&
         !fresh_.claims.claims.find(c.of, c.id);
}

void claims_restorer::holders(applying& a) {
  for (const auto& c : claims_) {
    if (c->state != claim_state::held || c->of.space != claim_space::claims || !may_return(*c))
      continue;
    const auto shape = shape_of(a, c->of);
    const auto* line = fresh_.claims.claims.line(c->of);
    const bool semaphore = shape->kind == claim_kind::semaphore; // may have more holders than its limit
    auto row = std::make_shared<claim_record>(*c);
    row->mode = shape->kind == claim_kind::rw ? c->mode : claim_mode::exclusive;
    row->permits = semaphore ? c->permits : 1;
    if (line != nullptr && !semaphore && !fits({shape->kind, shape->limit}, line->held, row->mode, row->permits))
      continue;
    const auto now_held = old_.claims.claims.find(c->of, c->id);
    const bool newest = now_held && now_held->state == claim_state::held && now_held->session == c->session &&
                        now_held->fence == c->fence;
    row->fence = newest || MUTANT(restore_gives_old_fences) ? c->fence : a.new_fence();
    row->requested = at_most(c->requested, a.now, 0);
    row->granted = at_most(c->granted, a.now, 0);
    row->deadline = {};
    row->create_index = std::min(c->create_index, a.index);
    row->modify_index = std::min(c->modify_index, a.index);
    fresh_.claims.claims.put(std::move(row));
  }
}

void claims_restorer::waiters(applying& a) {
  std::stable_sort(claims_.begin(), claims_.end(), [](const auto& x, const auto& y) { return x->ticket < y->ticket; });
  fresh_.indexes.set(index_kind::last_ticket, {});
  for (const auto& c : claims_) {
    if (c->state != claim_state::waiting || !may_return(*c))
      continue;
    const bool of_key = c->of.space == claim_space::keys;
    const auto entry = of_key ? fresh_.kv.find(c->of.name) : nullptr;
    const auto* line = fresh_.claims.claims.line(c->of);
    if ((entry && entry->session == c->session) || (line != nullptr && line->queue.size() >= waiters_max) ||
        fresh_.claims.claims.queued_bytes() + queued_bytes_of(*c) > queued_bytes_max)
      continue;
    const auto archived = resources_.find(c->of);
    if (!of_key && archived == resources_.end())
      continue;
    const auto kind = of_key ? claim_kind::lock : archived->second->kind;
    auto row = std::make_shared<claim_record>(*c);
    row->mode = kind == claim_kind::rw ? c->mode : claim_mode::exclusive;
    row->permits = kind == claim_kind::semaphore ? c->permits : 1;
    if (kind == claim_kind::semaphore && c->permits > archived->second->limit)
      continue;
    row->fence = 0;
    row->ticket = next_ticket(a);
    row->requested = at_most(c->requested, a.now, 0);
    if (!c->deadline.is_zero() && !MUTANT(restored_wait_keeps_deadline))
      row->deadline = at_most(c->deadline, a.now, c->deadline.value - std::min(c->requested, c->deadline).value);
    row->create_index = std::min(c->create_index, a.index);
    row->modify_index = std::min(c->modify_index, a.index);
    (void)shape_of(a, c->of);
    fresh_.claims.claims.put(std::move(row));
  }
}

/// Claims that exist now and are not in the archive.
void claims_restorer::later_claims(applying& a) {
  old_.claims.claims.rows().for_each_under("", [&](const claim_ptr& c) {
    const auto back = fresh_.claims.claims.find(c->of, c->id);
    const bool held = c->state == claim_state::held;
    if (held && !(back && back->state == claim_state::held && back->session == c->session)) {
      const auto session = old_.sessions.find(c->session);
      if (const auto until = session && !MUTANT(restore_leaves_no_ghosts) ? delay_end(*session, a.now) : std::nullopt) {
        PROBE("claims: who holds one that the archive does not know leaves a ghost");
        (void)shape_of(a, c->of);
        fresh_.claims.ghosts.put(
            std::make_shared<const claim_ghost>(claim_ghost{ghost_key(c->of.space, c->of.name, c->fence), c->of, c->id,
                                                            c->session, c->mode, c->permits, c->fence, *until}));
      }
    }
    const auto entry = c->of.space == claim_space::keys ? fresh_.kv.find(c->of.name) : nullptr;
    if (back || (entry && entry->session == c->session))
      return;
    auto end = std::make_shared<claim_end_record>();
    end->key = c->key;
    end->of = c->of;
    end->id = c->id;
    end->session = c->session;
    end->why = claim_end::restored;
    end->scope = c->scope;
    end->index = a.index;
    end->until.value = a.now.value + claim_end_ms;
    fresh_.claims.ends.put(std::move(end));
    fresh_.claims.ends.bound();
    a.changed.push_back(claim_ended{c->of, c->id, c->session, claim_end::restored, {}, !held, a.index});
  });
}

void claims_restorer::ended_sessions(applying& a) {
  const auto lives = [&](const std::string& id) { return fresh_.sessions.rows().find(id) != nullptr; };
  const auto keep = [&](std::vector<ended_session_ptr>& list) {
    std::sort(list.begin(), list.end(), [](const auto& x, const auto& y) { return x->number < y->number; });
    for (const auto& each : list)
      if (!lives(each->id)) {
        auto row = *each;
        row.index = std::min(row.index, a.index);
        row.at = at_most(row.at, a.now, 0);
        fresh_.claims.ended.add(std::move(row));
      }
  };
  keep(ended_);
  std::vector<ended_session_ptr> of_now;
  old_.claims.ended.rows().for_each_under("", [&](const ended_session_ptr& e) { of_now.push_back(e); });
  keep(of_now);
  old_.sessions.rows().for_each_under("", [&](const session_ptr& s) {
    if (lives(s->id))
      return;
    ended_session row;
    row.id = s->id;
    row.name = s->name;
    row.node = s->node;
    row.cause = "restored";
    row.index = a.index;
    row.at = a.now;
    for (const auto& key : old_.kv.held_by(s->id))
      note_released(row, {key, claim_space::keys});
    for (const auto& c : old_.claims.claims.of_session(s->id))
      if (c->state == claim_state::held)
        note_released(row, c->of);
    fresh_.claims.ended.add(std::move(row));
  });
  fresh_.indexes.set(index_kind::ended_sessions, a.index);
}

} // namespace belay::state
