#include "sim/checkers/claims/claims_checker.hpp"

#include "protocol/base/probe.hpp"
#include "sim/checkers/claims/claim_views.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

using state::claim_space;

// An alarm is proposed again after a second.
constexpr std::chrono::seconds late_max{3};

std::string rendered(const state::resource_name& of, const std::string& id) {
  return std::string(of.space == claim_space::claims ? "claim " : "wait for lock ") + of.name + " as " + id;
}

std::string rendered(const state::claim_record& c) {
  return "session " + c.session + (c.state == state::claim_state::held ? " holds" : " waits") + ", fence " +
         std::to_string(c.fence) + ", " + std::string(name_of(c.mode)) + ", permits " + std::to_string(c.permits) +
         ", priority " + std::to_string(c.priority) + ", ticket " + std::to_string(c.ticket) + ", until " +
         to_string(c.deadline) + ", changed at " + to_string(c.modify_index);
}

/// The record as the server has it.
state::claim_record row_of(const state::resource_name& of, const modelled_claim& c) {
  state::claim_record r;
  r.of = of;
  r.id = c.id;
  r.session = c.session;
  r.state = c.held ? state::claim_state::held : state::claim_state::waiting;
  r.mode = c.shared ? state::claim_mode::shared : state::claim_mode::exclusive;
  r.permits = c.permits;
  r.priority = c.priority;
  r.ticket = c.ticket;
  r.fence = c.fence;
  r.deadline = c.deadline;
  r.value = c.value;
  r.flags = c.flags;
  r.modify_index = c.changed;
  return r;
}

bool same(const state::claim_record& a, const state::claim_record& b) {
  // Only a waiting claim has a ticket.
  const bool waits = a.state == state::claim_state::waiting;
  return a.session == b.session && a.state == b.state && a.mode == b.mode && a.permits == b.permits &&
         a.priority == b.priority && (!waits || a.ticket == b.ticket) && a.fence == b.fence &&
         a.deadline == b.deadline && view_of(a.value) == view_of(b.value) && a.flags == b.flags &&
         a.modify_index == b.modify_index;
}

} // namespace

broken claims_checker::applied(log_index at, const state::machine& m) {
  if (!model_.claims_in_use())
    return std::nullopt;
  if (auto b = compare_session_ends(at, m))
    return b;
  const auto right = model_.claims_at(at);
  if (right == compared_)
    return std::nullopt;
  compared_ = right;
  PROBE("claims: a server's rows are compared with the model's");
  if (auto b = compare_claims(at, m))
    return b;
  if (auto b = compare_ghosts(at, m))
    return b;
  if (auto b = compare_guards(at, m))
    return b;
  return compare_counts(at, m);
}

broken claims_checker::compare_claims(log_index at, const state::machine& m) {
  const auto right = model_.claims_at(at);
  const auto found = m.evaluate(state::query{state::claims_list{}}, {});
  std::map<claim_name, state::claim_ptr> there;
  for (const auto& row : std::get<state::claim_rows>(found.data).list) {
    if (auto b = check_row(at, *row.claim))
      return b;
    there[{row.claim->of, row.claim->id}] = row.claim;
  }
  if (at >= newest_compared_) {
    newest_compared_ = at;
    held_.clear();
    for (const auto& [name, row] : there)
      if (row->state == state::claim_state::held)
        newest_given_ = std::max(newest_given_, *held_.insert(row->fence).first);
  }
  const auto index = "at index " + to_string(at) + " ";
  for (const auto& [of, r] : right->resources)
    for (const auto& [id, c] : r.claims) {
      const auto it = there.find({of, id});
      const auto wanted = row_of(of, c);
      if (it == there.end())
        return index + "a server has no " + rendered(of, id) + ", expected: " + rendered(wanted);
      if (!same(*it->second, wanted))
        return index + "a server has of " + rendered(of, id) + ": " + rendered(*it->second) +
               "; expected: " + rendered(wanted);
      there.erase(it);
    }
  if (!there.empty()) {
    const auto& [name, row] = *there.begin();
    return index + "a server has " + rendered(name.first, name.second) +
           ", and there should be none: " + rendered(*row);
  }
  return std::nullopt;
}

/// Rules that hold whatever the model computes.
broken claims_checker::check_row(log_index at, const state::claim_record& row) {
  const auto what = "at index " + to_string(at) + " " + rendered(row.of, row.id) + ": " + rendered(row);
  const auto over = over_.find({row.of, row.id});
  if (over != over_.end() && over->second.by <= at && time_of(at).value - over->second.since.value < remembered_ms)
    return what + ", although a client learned that it had ended by index " + to_string(over->second.by);
  if (row.state != state::claim_state::held || at < newest_compared_) // another node has shown a later state already
    return std::nullopt;
  if (!held_.contains(row.fence) && row.fence <= newest_given_)
    return what + ", although it did not hold with that fence before, and fence " + std::to_string(newest_given_) +
           " was granted meanwhile";
  return std::nullopt;
}

broken claims_checker::compare_ghosts(log_index at, const state::machine& m) const {
  std::size_t count = 0;
  const auto right = model_.claims_at(at);
  for (const auto& [of, r] : right->resources) {
    if (of.space != claim_space::claims)
      continue;
    const auto found = m.evaluate(state::query{state::claim_read{of}}, {});
    const auto& view = std::get<state::claim_view>(found.data);
    count += r.ghosts.size();
    const auto what = "at index " + to_string(at) + " a server has of " + of.name + ": ";
    if (!view.known || view.kind != r.kind || view.limit != r.limit || view.pinned != r.pinned)
      return what +
             (view.known ? std::string(name_of(view.kind)) + " with limit " + std::to_string(view.limit) +
                               (view.pinned ? ", pinned" : "")
                         : "nothing") +
             "; expected: " + std::string(name_of(r.kind)) + " with limit " + std::to_string(r.limit) +
             (r.pinned ? ", pinned" : "");
    std::map<std::uint64_t, const state::claim_ghost*> there;
    for (const auto& g : view.delays)
      there[g.fence] = &g;
    for (const auto& [fence, g] : r.ghosts) {
      const auto it = there.find(fence);
      if (it == there.end())
        return what + "nothing is withheld with fence " + std::to_string(fence) + ", of dead session " + g.session;
      if (it->second->permits != g.permits || (it->second->mode == state::claim_mode::shared) != g.shared ||
          it->second->until != g.until)
        return what + "withheld are " + std::to_string(it->second->permits) + " permits " +
               std::string(name_of(it->second->mode)) + " until " + to_string(it->second->until) + " with fence " +
               std::to_string(fence) + "; expected: " + std::to_string(g.permits) + (g.shared ? " shared" : "") +
               " until " + to_string(g.until);
      there.erase(it);
    }
    if (!there.empty())
      return what + "something is withheld with fence " + std::to_string(there.begin()->first) + ", and nothing should";
  }
  if (m.claims_counted().ghosts != count)
    return "at index " + to_string(at) + " a server counts " + std::to_string(m.claims_counted().ghosts) +
           " holders in their lock delay, expected: " + std::to_string(count);
  return std::nullopt;
}

broken claims_checker::compare_guards(log_index at, const state::machine& m) const {
  const auto right = model_.claims_at(at);
  const auto found = m.evaluate(state::query{state::guards_list{}}, {});
  std::map<std::string, state::resource_name> there;
  for (const auto& g : std::get<state::guard_rows>(found.data).list)
    there[g.prefix] = g.by;
  if (there == right->guards)
    return std::nullopt;
  std::string text = "at index " + to_string(at) + " a server has guards";
  for (const auto& [prefix, by] : there)
    text += " " + prefix + " by " + by.name;
  text += "; expected:";
  for (const auto& [prefix, by] : right->guards)
    text += " " + prefix + " by " + by.name;
  return text;
}

/// Invariant 8: no row without a reason.
broken claims_checker::compare_counts(log_index at, const state::machine& m) const {
  const auto counts = m.claims_counted();
  const auto ends = model_.ended().count(at), resources = model_.claims_at(at)->resources.size();
  if (counts.resources == resources && counts.ends == ends)
    return std::nullopt;
  return "at index " + to_string(at) + " a server has " + std::to_string(counts.resources) + " resources and " +
         std::to_string(counts.ends) + " remembered ends; right are " + std::to_string(resources) + " and " +
         std::to_string(ends);
}

/// Rule 22.
broken claims_checker::compare_session_ends(log_index at, const state::machine& m) {
  const auto& all = model_.session_ends();
  std::map<std::string, const modelled_session_end*> newest;
  for (; session_ends_ < all.size() && all[session_ends_].index <= at; ++session_ends_)
    newest[all[session_ends_].id] = &all[session_ends_];
  for (const auto& [id, right] : newest) {
    const auto found = m.evaluate(state::query{state::session_ended{id}}, {});
    const auto& list = std::get<state::ended_session_rows>(found.data).list;
    const auto what = "at index " + to_string(at) + " of session " + id + ", which ended at " + to_string(right->index);
    if (model_.sessions().lived_at(id, at)) { // a restore brought it back
      if (!list.empty())
        return what + " and lives again, a server remembers the end";
      continue;
    }
    if (list.empty())
      return what + ", a server remembers nothing";
    const auto& row = *list.front();
    if (row.index != right->index || !is_cause(row.cause, right->cause))
      return what + " (" + right->cause + "), a server remembers: " + row.cause + " at " + to_string(row.index);
    if (row.released != right->released || row.released_count != right->released.size())
      return what + ", a server reports that it released " + std::to_string(row.released_count) +
             " resources; expected: " + std::to_string(right->released.size());
    if (row.on_end_done != right->done || row.on_end_refused != right->refused)
      return what + ", a server reports that " + std::to_string(row.on_end_done) + " operations were done and " +
             std::to_string(row.on_end_refused) + " refused; expected: " + std::to_string(right->done) + " and " +
             std::to_string(right->refused);
  }
  return std::nullopt;
}

void claims_checker::committed(const raft::entry& e, virtual_time now) {
  INVARIANT(e.index.value == times_.size() + 1);
  times_.push_back(e.time);
  auto state = model_.claims_at(e.index);
  if (state == noted_)
    return;
  noted_ = std::move(state);
  for (const auto& [of, r] : noted_->resources) {
    for (const auto& [id, c] : r.claims)
      if (!c.held && !c.deadline.is_zero())
        note_due({of, id}, c.deadline, e, now);
    for (const auto& [fence, g] : r.ghosts)
      note_due({of, "ghost " + std::to_string(fence)}, g.until, e, now);
  }
}

void claims_checker::note_due(const claim_name& what, cluster_time until, const raft::entry& e, virtual_time now) {
  auto& d = due_[what];
  if (d.received != until)
    d = {until, now + std::chrono::milliseconds(until.value - std::min(until, e.time).value)};
}

void claims_checker::led(virtual_time now) {
  led_ = now;
  const auto newest = times_.empty() ? cluster_time{} : times_.back();
  for (auto& [what, d] : due_)
    d.at = std::max<virtual_time>(
        d.at, now + std::chrono::milliseconds(d.received.value - std::min(d.received, newest).value));
}

broken claims_checker::finish(virtual_time now) const {
  const auto late = [&](const claim_name& what) {
    const auto it = due_.find(what);
    // The time between leaders does not count, and a new leader checks at once.
    return it != due_.end() && now > std::max(it->second.at, led_) + late_max;
  };
  for (const auto& [of, r] : model_.claims_at(model_.applied())->resources) {
    for (const auto& [id, c] : r.claims)
      if (!c.held && !c.deadline.is_zero() && late({of, id}))
        return rendered(of, id) + " still waits, although its deadline is long over and the leader serves";
    for (const auto& [fence, g] : r.ghosts)
      if (late({of, "ghost " + std::to_string(fence)}))
        return "something of " + of.name + " is still withheld with fence " + std::to_string(fence) +
               ", although that is long over and the leader serves";
  }
  return std::nullopt;
}

broken claims_checker::ended(const operation& op) {
  if (op.result != outcome::done || !op.write)
    return std::nullopt;
  if (const auto* r = std::get_if<state::claim_release>(&*op.write)) {
    const auto* yes = std::get_if<bool>(&op.reply);
    if (yes != nullptr && *yes)
      note_end({{r->name, claim_space::claims}, r->id}, {op.index, time_of(op.index)});
  } else if (const auto* a = std::get_if<state::claim_ask>(&*op.write)) {
    const auto* no = std::get_if<state::claim_refusal>(&op.reply);
    if (no != nullptr && no->ended)
      note_end({{a->name, claim_space::claims}, a->id},
               {op.committed_at_return, time_of(log_index{1})}); // it is unknown when
  }
  return std::nullopt;
}

void claims_checker::note_end(claim_name which, sent_end e) {
  auto& known = over_.try_emplace(std::move(which), e).first->second;
  if (e.since > known.since)
    known = e;
}

} // namespace belay::sim
