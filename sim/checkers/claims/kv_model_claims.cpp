// kv_model: claims, queued locks, write guards and OnEnd ("Rule" is one of docs/reference/claims.md).

#include "protocol/base/overloaded.hpp"
#include "protocol/base/probe.hpp"
#include "sim/checkers/kv_model.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

using state::claim_end;
using state::claim_error;
using state::claim_kind;
using state::claim_space;
using state::kv_verb;
using state::resource_name;

constexpr std::uint64_t longest_ghost_ms = 60'000; // like a lock delay

std::string folded_id(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

bool lies_under(std::string_view key, std::string_view prefix) {
  return key.substr(0, prefix.size()) == prefix;
}

bool writes(kv_verb verb) {
  return verb == kv_verb::set || verb == kv_verb::cas || verb == kv_verb::lock || verb == kv_verb::unlock ||
         verb == kv_verb::remove || verb == kv_verb::remove_cas || verb == kv_verb::remove_tree;
}

resource_name lock_of(const std::string& key) {
  return {key, claim_space::keys};
}

state::kv_op acquire_of(const std::string& key) {
  state::kv_op op;
  op.verb = kv_verb::lock;
  op.key = key;
  return op;
}

} // namespace

state::reply kv_model::refused_claim(claim_error why, std::optional<claim_end> ended) {
  state::claim_refusal no;
  no.why = why;
  no.ended = ended;
  return no;
}

std::string kv_model::described(const resource_name& of) {
  return std::string(of.space == claim_space::claims ? "claim" : "lock") + " \"" + of.name + '"';
}

claims_state_ptr kv_model::claims_at(log_index s) const {
  static const auto nothing = std::make_shared<const claims_state>();
  const auto later = claims_past_.upper_bound(s);
  return later == claims_past_.begin() ? nothing : std::prev(later)->second;
}

// ---- before and after an entry

/// Rules 13 and 14. Never more than a thousand in a simulated run.
void kv_model::begin_claims(draft& d) {
  if (!claims_in_use_)
    return;
  std::vector<std::pair<resource_name, std::string>> late;
  for (auto& [of, r] : claims_.resources) {
    for (const auto& [id, c] : r.claims)
      if (!c.held && !c.deadline.is_zero() && c.deadline <= d.time)
        late.emplace_back(of, id);
    d.claims_changed =
        std::erase_if(r.ghosts, [&](const auto& each) { return each.second.until <= d.time; }) != 0 || d.claims_changed;
  }
  for (const auto& [of, id] : late)
    end_claim(d, of, id, claim_end::deadline);
  std::erase_if(claims_.resources, [](const auto& each) { return !each.second.has_reason(); });
  ended_.forget_those_over(d.time, d.index);
}

void kv_model::settle(draft& d) {
  std::vector<resource_name> all;
  for (const auto& [of, r] : claims_.resources)
    all.push_back(of);
  for (const auto& of : all)
    settle(d, of);
}

/// The grant rule: grants to the first in the queue, while it fits.
void kv_model::settle(draft& d, const resource_name& of) {
  for (;;) {
    const auto* r = claims_.find(of);
    if (r == nullptr)
      return;
    const auto line = r->queue();
    if (line.empty())
      return;
    const auto& first = *line.front();
    if (!first.deadline.is_zero() && first.deadline <= d.time) { // a restore brought it back too late
      end_claim(d, of, std::string(first.id), claim_end::deadline);
      continue;
    }
    if (is_disallowed(of, first)) {
      PROBE("claims: a waiter leaves whose token may not write");
      end_claim(d, of, std::string(first.id), claim_end::withdrawn);
      continue;
    }
    if (of.space == claim_space::keys ? !is_free(d, of.name) : !r->fits(first))
      return;
    // Rule 34. Entries that name no client are decided as in 0.2.0.
    if (of.space == claim_space::keys && !first.client.empty() && guarded_from(acquire_of(of.name), first.session)) {
      PROBE("claims: a waiter leaves whose session may not write below a guard");
      end_claim(d, of, std::string(first.id), claim_end::withdrawn);
      continue;
    }
    grant(d, of, std::string(first.id));
  }
}

/// Rule 33.
bool kv_model::is_disallowed(const resource_name& of, const modelled_claim& c) const {
  if (!c.by)
    return false;
  const auto may = access_.rights_now(*c.by);
  return !may || !may->writes_key(of.name);
}

/// Rule 33, after policies, roles or tokens changed.
void kv_model::end_disallowed(draft& d) {
  std::vector<std::pair<resource_name, std::string>> gone;
  for (const auto& [of, r] : claims_.resources)
    for (const auto& [id, c] : r.claims)
      if (!c.held && is_disallowed(of, c))
        gone.emplace_back(of, id);
  for (const auto& [of, id] : gone)
    end_claim(d, of, id, claim_end::withdrawn);
}

std::string kv_model::holder_of(const std::string& key) const {
  const auto e = live(key);
  return std::string(e ? e->session : std::string_view());
}

bool kv_model::is_free(const draft& d, const std::string& key) const {
  return holder_of(key).empty() && delayed_until(key) <= d.time.value;
}

bool kv_model::awaited(const std::string& key) const {
  return claims_.find(lock_of(key)) != nullptr;
}

/// Rule 10; before claims were in use, the index.
std::uint64_t kv_model::new_fence(draft& d) {
  const auto fence = claims_in_use_ ? std::max(d.index.value, last_fence_ + 1) : d.index.value;
  if (claims_in_use_)
    last_fence_ = fence;
  if (fences_.emplace(fence, d.index).second)
    d.fences.push_back(fence);
  return fence;
}

void kv_model::grant(draft& d, const resource_name& of, const std::string& id) {
  d.claims_changed = true;
  auto& c = claims_.resources.at(of).claims.at(id);
  if (of.space == claim_space::keys) {
    PROBE("claims: a waiting acquire is granted");
    d.lock_given = true;
    const auto waiter = c;
    claims_.resources.at(of).claims.erase(id);
    prune(of);
    state::kv_op op;
    op.verb = kv_verb::lock;
    op.key = of.name;
    op.value = waiter.value;
    op.flags = waiter.flags;
    const auto old = live(of.name);
    put(d, op, (old ? old->lock_index : 0) + 1, waiter.session, new_fence(d));
    return;
  }
  if (c.requested != d.time)
    PROBE("claims: a waiting claim is granted");
  c.held = true;
  c.fence = new_fence(d);
  c.deadline = {};
  c.changed = d.index;
}

void kv_model::end_claim(draft& d, const resource_name& of, const std::string& id, claim_end why) {
  const auto* c = claims_.find(of, id);
  d.claims_changed = true;
  ended_.put({of, id}, {why, c->session, d.index, cluster_time{d.time.value + remembered_ms}, c->client}, d.index);
  claims_.resources.at(of).claims.erase(std::string(id));
  prune(of);
}

void kv_model::prune(const resource_name& of) {
  const auto it = claims_.resources.find(of);
  if (it != claims_.resources.end() && !it->second.has_reason())
    claims_.resources.erase(it);
}

bool kv_model::closes_circle(const std::string& session, const modelled_claim* granted) const {
  return circle_search{claims_, [this](const std::string& key) { return holder_of(key); }, session, granted}.closes();
}

// ---- commands

std::optional<kv_model::received> kv_model::run_claims(draft& d, const state::command& command) {
  using answer = std::optional<received>;
  if (command.client_address) {
    const auto owner = command.by ? access_.owner_now(command.by->secret) : std::nullopt;
    d.client = owner && !owner->empty() ? *owner : *command.client_address;
    d.by = command.by;
  }
  const bool used = std::exchange(claims_in_use_, true);
  auto found = std::visit(overloaded{
                              [&](const state::claim_ask& c) { return answer(run(d, c)); },
                              [&](const state::claim_release& c) { return answer(run(d, c)); },
                              [&](const state::claim_transfer& c) { return answer(run(d, c)); },
                              [&](const state::claim_mode_set& c) { return answer(run(d, c)); },
                              [&](const state::claim_limit_set& c) { return answer(run(d, c)); },
                              [&](const state::claim_limit_unset& c) { return answer(run(d, c)); },
                              [&](const state::guard_set& c) { return answer(run(d, c)); },
                              [&](const state::guard_remove& c) { return answer(run(d, c)); },
                              [&](const state::kv_acquire& c) { return answer(run(d, c)); },
                              [&](const state::fenced_write& c) { return answer(run(d, c)); },
                              [&](const state::fenced_txn& c) { return answer(run(d, c.body)); },
                              [&](const state::claims_alarm&) { return answer(received(state::reply(true))); },
                              [&](const state::waits_withdraw& c) { return answer(run(d, c)); },
                              [&](const state::session_begin& c) {
                                auto wanted = c.session;
                                wanted.ttl_mode = c.ttl_mode;
                                wanted.on_end = c.on_end;
                                if (d.by && !c.on_end.empty())
                                  left_by_[folded_id(wanted.id)] = *d.by;
                                note(moments_, d.index);
                                return answer(received(sessions_.create(wanted, d.index)));
                              },
                              [&](const auto&) { return answer(); },
                          },
                          static_cast<const state::plain_command&>(command));
  claims_in_use_ = used || (found.has_value() && !std::holds_alternative<state::waits_withdraw>(command));
  return found;
}

/// In the order of docs/internals/adr/0016-claims.md, rule 4.
kv_model::received kv_model::run(draft& d, const state::claim_ask& c) {
  const auto* session = sessions_.find(folded_id(c.session));
  if (session == nullptr)
    return refused_claim(claim_error::unknown_session);
  const auto sid = session->id;
  const resource_name of{c.name, claim_space::claims};
  const auto id = c.id.empty() ? sid : c.id;
  if (const auto* end = ended_.find({of, id})) {
    PROBE("claims: an ended id is asked for again");
    return refused_claim(claim_error::ended, end->why);
  }
  if (const auto* there = claims_.find(of, id)) {
    if (there->session != sid)
      return refused_claim(claim_error::id);
    if (!d.client.empty() && !there->held)
      claims_.resources.at(of).claims.at(id).by = d.by;
    settle(d);
    return claims_.standing(of, *claims_.find(of, id), {});
  }
  const auto* known = claims_.find(of);
  const auto kind = known != nullptr ? known->kind : c.kind.value_or(claim_kind::lock);
  const bool semaphore = kind == claim_kind::semaphore;
  if (c.kind && *c.kind != kind)
    return refused_claim(claim_error::kind);
  if ((!semaphore && (c.permits || c.limit)) || (c.mode && kind != claim_kind::rw) ||
      (semaphore && known == nullptr && !c.limit))
    return refused_claim(claim_error::parameter);
  const bool sets_limit = semaphore && c.limit && (known == nullptr || known->open);
  if (semaphore && known != nullptr && !known->pinned && !sets_limit && c.limit && *c.limit != known->limit)
    return refused_claim(claim_error::limit);
  const auto limit = !semaphore ? 0 : sets_limit ? *c.limit : known->limit;
  modelled_claim wanted;
  wanted.id = id;
  wanted.session = sid;
  wanted.shared = c.mode == state::claim_mode::shared;
  wanted.permits = c.permits.value_or(1);
  wanted.priority = c.priority;
  wanted.refuses_deadlock = c.refuse_deadlock;
  wanted.value = c.value;
  wanted.requested = d.time;
  wanted.deadline.value = c.deadline_ms == 0 ? 0 : d.time.value + c.deadline_ms;
  wanted.ticket = last_ticket_ + 1;
  wanted.changed = d.index;
  if (semaphore && wanted.permits > limit)
    return refused_claim(claim_error::parameter);
  auto own = wanted.permits;
  bool excluded = false;
  for (const auto& [other, each] : known != nullptr ? known->claims : decltype(known->claims)())
    if (each.session == sid) {
      own += each.permits;
      excluded = excluded || (!semaphore && known->conflict(wanted, each));
    }
  if (excluded || (semaphore && own > limit))
    return refused_claim(claim_error::deadlock);
  if (!end_fits(d, of, id, !c.id.empty()))
    return refused_claim(claim_error::ends_full);
  wanted.client = d.client;
  wanted.by = d.by;
  const auto before = claims_;
  const bool known_before = known != nullptr;
  auto& r = claims_.resources[of];
  r.kind = kind;
  r.limit = limit;
  r.open = r.open && !sets_limit;
  auto& there = r.claims[id] = std::move(wanted);
  if (c.refuse_deadlock) {
    const auto line = r.queue();
    const bool at_once = line.front() == &there && r.fits(there);
    if (closes_circle(sid, at_once ? &there : nullptr)) {
      PROBE("claims: a circle is refused");
      claims_ = before;
      return refused_claim(claim_error::deadlock);
    }
  }
  last_ticket_ = there.ticket;
  d.claims_changed = true;
  if (sets_limit && known_before)
    end_too_large(d, of);
  settle(d);
  return claims_.standing(of, *claims_.find(of, id), {});
}

kv_model::received kv_model::run(draft& d, const state::claim_release& c) {
  const resource_name of{c.name, claim_space::claims};
  if (const auto* there = claims_.find(of, c.id)) {
    end_claim(d, of, c.id, there->held ? claim_end::released : claim_end::withdrawn);
  } else if (ended_.find({of, c.id}) == nullptr) {
    if (!end_fits(d, of, c.id, true))
      return refused_claim(claim_error::ends_full);
    d.claims_changed = true;
    ended_.put({of, c.id}, {claim_end::withdrawn, {}, d.index, cluster_time{d.time.value + remembered_ms}, d.client},
               d.index);
  }
  return state::reply(true);
}

kv_model::received kv_model::run(draft& d, const state::claim_transfer& c) {
  const resource_name of{c.name, claim_space::claims};
  const auto* there = claims_.find(of, c.id);
  if (there == nullptr) {
    const auto* end = ended_.find({of, c.id});
    return end != nullptr ? refused_claim(claim_error::ended, end->why) : refused_claim(claim_error::unknown_claim);
  }
  const auto& r = *claims_.find(of);
  if (r.kind != claim_kind::lock && r.kind != claim_kind::election)
    return refused_claim(claim_error::kind);
  if (!there->held)
    return refused_claim(claim_error::not_held);
  const auto line = r.queue();
  if (c.to.empty() && line.empty())
    return refused_claim(claim_error::no_waiter);
  const auto* next = c.to.empty() ? line.front() : claims_.find(of, c.to);
  if (next == nullptr || next->held)
    return refused_claim(claim_error::unknown_claim);
  const bool overtakes = next != line.front();
  const auto to = next->id, session = next->session;
  if (overtakes) {
    auto after = claims_;
    auto& then = after.resources.at(of);
    then.claims.erase(c.id);
    then.claims.at(to).held = true;
    if (circle_search{after, [this](const std::string& key) { return holder_of(key); }, session, nullptr, true,
                      next->refuses_deadlock}
            .closes()) {
      PROBE("claims: a transfer that closes a circle is refused");
      return refused_claim(claim_error::deadlock);
    }
  }
  PROBE("claims: handed over");
  end_claim(d, of, c.id, claim_end::handed_over);
  grant(d, of, to);
  return claims_.standing(of, *claims_.find(of, to), {});
}

kv_model::received kv_model::run(draft& d, const state::claim_mode_set& c) {
  const resource_name of{c.name, claim_space::claims};
  const auto* there = claims_.find(of, c.id);
  if (there == nullptr) {
    const auto* end = ended_.find({of, c.id});
    return end != nullptr ? refused_claim(claim_error::ended, end->why) : refused_claim(claim_error::unknown_claim);
  }
  if (claims_.find(of)->kind != claim_kind::rw)
    return refused_claim(claim_error::mode);
  if (!there->held)
    return refused_claim(claim_error::not_held);
  const bool shared = c.mode == state::claim_mode::shared;
  if (there->shared && !shared)
    return refused_claim(claim_error::mode);
  if (there->shared != shared) {
    auto& row = claims_.resources.at(of).claims.at(c.id);
    row.shared = true;
    row.changed = d.index;
    d.claims_changed = true;
    PROBE("claims: a writer becomes a reader");
  }
  return claims_.standing(of, *claims_.find(of, c.id), {});
}

/// Rules 3 and 5.
kv_model::received kv_model::run(draft& d, const state::claim_limit_set& c) {
  const resource_name of{c.name, claim_space::claims};
  const auto* known = claims_.find(of);
  if (known != nullptr && known->kind != claim_kind::semaphore)
    return refused_claim(claim_error::kind);
  if (known != nullptr && known->pinned && known->limit == c.limit)
    return state::reply(true);
  auto& r = claims_.resources[of];
  r.kind = claim_kind::semaphore;
  r.limit = c.limit;
  r.pinned = true;
  r.open = false;
  d.claims_changed = true;
  end_too_large(d, of);
  return state::reply(true);
}

/// Rule 5.
void kv_model::end_too_large(draft& d, const resource_name& of) {
  const auto& r = claims_.resources.at(of);
  std::vector<std::string> too_large;
  for (const auto* waiter : r.queue())
    if (waiter->permits > r.limit)
      too_large.push_back(waiter->id);
  for (const auto& id : too_large) {
    PROBE("claims: a wait ends by a smaller limit");
    end_claim(d, of, id, claim_end::limit);
  }
}

/// Rule 7. A claim counts the end record that it will have.
bool kv_model::end_fits(const draft& d, const resource_name& of, const std::string& id, bool own_id) const {
  constexpr std::uint64_t of_each = 512;
  if (d.client.empty())
    return true;
  const auto bytes_of = [](const resource_name& r, const std::string& i, const std::string& client) {
    return of_each + 2 * (r.name.size() + i.size()) + client.size();
  };
  const auto for_each = [&](auto f) {
    ended_.for_each_now([&](const auto& which, const auto& end) { f(which.first, which.second, end.client); });
    for (const auto& [r, each] : claims_.resources)
      for (const auto& [i, c] : each.claims)
        f(r, i, c.client);
  };
  std::uint64_t bytes = bytes_of(of, id, d.client);
  for_each([&](const resource_name& r, const std::string& i, const std::string& client) {
    bytes += client.empty() ? 0 : bytes_of(r, i, client);
  });
  if (bytes <= end_bounds_.bytes / 2)
    return true;
  if (bytes > end_bounds_.bytes) {
    PROBE("claims: no end fits");
    return false;
  }
  std::map<std::string, std::uint64_t> counts;
  for_each([&](const resource_name&, const std::string&, const std::string& client) {
    if (!client.empty())
      ++counts[client];
  });
  const auto own = counts[d.client];
  const bool has_most =
      std::all_of(counts.begin(), counts.end(), [own](const auto& each) { return each.second <= own; });
  return !own_id || !has_most || own < end_bounds_.share;
}

kv_model::received kv_model::run(draft& d, const state::claim_limit_unset& c) {
  const resource_name of{c.name, claim_space::claims};
  if (const auto* known = claims_.find(of); known != nullptr && known->pinned) {
    claims_.resources.at(of).pinned = false;
    claims_.resources.at(of).open = !d.client.empty();
    d.claims_changed = true;
    prune(of);
  }
  return state::reply(true);
}

// ---- locks of keys

kv_model::received kv_model::run(draft& d, const state::kv_acquire& c) {
  std::vector<state::fence_ref> named;
  if (c.fence) {
    if (!is_valid(*c.fence))
      return refused_claim(claim_error::fence);
    named.push_back(*c.fence);
  }
  if (c.wait_ms == 0)
    return write_alone(d, c.op, named);
  if (guarded(c.op, named))
    return refused_claim(claim_error::guarded);
  if (c.op.session.empty())
    return state::reply{state::refusal{"missing session"}};
  if (c.op.session.size() != 36)
    return state::reply{state::refusal{"failed session lookup: index error: UUID must be 36 characters"}};
  const auto session = folded_id(c.op.session);
  if (sessions_.find(session) == nullptr)
    return state::reply{state::refusal{"invalid session \"" + c.op.session + "\""}};
  if (doubtful_.count(c.op.key) != 0)
    return std::nullopt;
  if (holder_of(c.op.key) == session || (is_free(d, c.op.key) && !awaited(c.op.key))) {
    auto s = write_key(d, c.op); // the holder has no lock delay
    return s.received;
  }
  return wait_for_key(d, c, session);
}

/// Rules 23, 24 and 34.
kv_model::received kv_model::wait_for_key(draft& d, const state::kv_acquire& c, const std::string& session) {
  const auto of = lock_of(c.op.key);
  const auto* there = claims_.find(of, session);
  if (!(there != nullptr ? there->client : d.client).empty() && guarded_from(c.op, session))
    return refused_claim(claim_error::guarded);
  if (claims_.find(of, session) == nullptr && !end_fits(d, of, session, false))
    return refused_claim(claim_error::ends_full);
  const auto before = claims_;
  const bool again = claims_.find(of, session) != nullptr;
  auto& row = claims_.resources[of].claims[session];
  if (!again) {
    row.id = row.session = session;
    row.client = d.client;
    row.requested = d.time;
    row.ticket = last_ticket_ + 1;
  }
  row.value = c.op.value ? c.op.value : make_payload({});
  row.flags = c.op.flags;
  row.refuses_deadlock = c.refuse_deadlock;
  row.deadline.value = d.time.value + c.wait_ms;
  row.changed = d.index;
  if (!d.client.empty())
    row.by = d.by;
  if (c.refuse_deadlock && closes_circle(session, nullptr)) {
    PROBE("claims: a circle is refused");
    claims_ = before;
    return refused_claim(claim_error::deadlock);
  }
  last_ticket_ = std::max(last_ticket_, row.ticket);
  d.claims_changed = true;
  ended_.forget({of, session}, d.index);
  settle(d);
  if (const auto e = live(of.name); e && e->session == session) {
    state::reply yes(true);
    yes.note.fence = e->fence;
    return yes;
  }
  return claims_.standing(of, *claims_.find(of, session), holder_of(of.name));
}

/// Rule 24: the client disconnected, and the session has not requested the lock again.
kv_model::received kv_model::run(draft& d, const state::waits_withdraw& c) {
  if (c.waits.size() > 1'000)
    return refused_claim(claim_error::parameter);
  for (const auto& wait : c.waits) {
    const auto session = folded_id(wait.session);
    const auto* there = claims_.find(lock_of(wait.key), session);
    if (there == nullptr || there->changed != wait.requested_at)
      continue;
    PROBE("claims: a wait ends because its client disconnected");
    end_claim(d, lock_of(wait.key), session, claim_end::withdrawn);
  }
  return state::reply(true);
}

/// Rule 25.
void kv_model::leave_queue(draft& d, const std::string& key, const std::string& session) {
  if (claims_.find(lock_of(key), session) != nullptr) {
    PROBE("claims: a waiting acquire is withdrawn");
    end_claim(d, lock_of(key), session, claim_end::withdrawn);
  }
}

// ---- ends of sessions

/// Rule 19: one after the other, each by itself.
void kv_model::leave_on_end(draft& d, const state::session_record& s, modelled_session_end& received) {
  for (const auto& op : s.on_end) {
    PROBE("claims: OnEnd");
    const bool done = may_still_do(s.id, op) && !guarded_from(op, s.id) && write_key(d, op).outcome == certainty::done;
    ++(done ? received.done : received.refused);
  }
}

/// Rule 19: the token that set it needs the permission then.
bool kv_model::may_still_do(const std::string& session, const state::kv_op& op) const {
  const auto by = left_by_.find(session);
  if (by == left_by_.end())
    return true;
  const auto may = access_.rights_now(by->second);
  return may && (op.verb == kv_verb::remove_tree ? may->removes_tree(op.key) : may->writes_key(op.key));
}

bool kv_model::lost_by_end(const std::string& key, const std::string& session, log_index at) const {
  for (auto it = session_ends_.rbegin(); it != session_ends_.rend() && it->index == at; ++it)
    if (it->id == session)
      return std::find(it->released.begin(), it->released.end(), lock_of(key)) != it->released.end();
  return true;
}

std::vector<resource_name> kv_model::held_by(const std::string& session) const {
  std::vector<resource_name> all;
  for (const auto& [key, e] : live_)
    if (e->session == session)
      all.push_back(lock_of(key));
  for (const auto& [of, r] : claims_.resources)
    for (const auto& [id, c] : r.claims)
      if (c.held && c.session == session)
        all.push_back(of);
  return all;
}

void kv_model::end_claims_of(draft& d, const state::session_record& s) {
  const auto until = delay_after(d, s);
  std::vector<std::pair<resource_name, std::string>> own;
  for (auto& [of, r] : claims_.resources)
    for (const auto& [id, c] : r.claims) {
      if (c.session != s.id)
        continue;
      own.emplace_back(of, id);
      if (c.held && until != 0)
        r.ghosts[c.fence] = {c.id, c.session, c.shared, c.permits, cluster_time{until}};
    }
  for (const auto& [of, id] : own)
    end_claim(d, of, id, claim_end::session);
}

// ---- guards

bool kv_model::is_valid(const state::fence_ref& f) const {
  if (f.fence == 0)
    return false;
  if (f.of.space == claim_space::keys) {
    const auto e = live(f.of.name);
    return e && !e->session.empty() && e->fence == f.fence;
  }
  const auto* r = claims_.find(f.of);
  return r != nullptr && std::any_of(r->claims.begin(), r->claims.end(), [&](const auto& each) {
           return each.second.held && each.second.fence == f.fence && !each.second.shared;
         });
}

template <class Opens>
std::optional<std::string> kv_model::closed_guard(const state::kv_op& op, Opens opens) const {
  if (!writes(op.verb))
    return std::nullopt;
  const bool of_lock = op.verb == kv_verb::lock || op.verb == kv_verb::unlock;
  for (const auto& [prefix, by] : claims_.guards) {
    const bool meets = lies_under(op.key, prefix) || (op.verb == kv_verb::remove_tree && lies_under(prefix, op.key));
    const bool own_lock = of_lock && by == lock_of(op.key); // rule 36
    if (meets && !own_lock && !opens(by)) {
      PROBE("claims: a guard is closed");
      return prefix;
    }
  }
  return std::nullopt;
}

std::optional<std::string> kv_model::guarded(const state::kv_op& op, const std::vector<state::fence_ref>& named) const {
  return closed_guard(op, [&](const resource_name& by) {
    return std::any_of(named.begin(), named.end(), [&](const auto& f) { return f.of == by && is_valid(f); });
  });
}

std::optional<std::string> kv_model::guarded_from(const state::kv_op& op, const std::string& session) const {
  return closed_guard(op, [&](const resource_name& by) {
    if (by.space == claim_space::keys)
      return holder_of(by.name) == session;
    const auto* r = claims_.find(by);
    return r != nullptr && std::any_of(r->claims.begin(), r->claims.end(), [&](const auto& each) {
             return each.second.held && each.second.session == session && !each.second.shared;
           });
  });
}

kv_model::received kv_model::run(draft& d, const state::fenced_write& c) {
  if (!is_valid(c.fence))
    return refused_claim(claim_error::fence);
  return write_alone(d, c.op, {c.fence});
}

kv_model::received kv_model::run(draft& d, const state::guard_set& c) {
  if (const auto same = claims_.guards.find(c.prefix); same != claims_.guards.end() && same->second == c.by)
    return state::reply(true);
  for (const auto& [prefix, by] : claims_.guards)
    if (lies_under(prefix, c.prefix) || lies_under(c.prefix, prefix) || // rule 36: neither requires the other's lock
        (c.by.space == claim_space::keys && lies_under(c.by.name, prefix)) ||
        (by.space == claim_space::keys && lies_under(by.name, c.prefix)))
      return refused_claim(claim_error::overlap);
  if (!guard_fits(d))
    return refused_claim(claim_error::guards_full);
  claims_.guards[c.prefix] = c.by;
  if (!d.client.empty())
    claims_.guard_clients[c.prefix] = d.client;
  d.claims_changed = true;
  return state::reply(true);
}

/// Rule 34. Any client may use the first half of the guards. The second half is for clients that
/// have fewer than another one, or less than their share.
bool kv_model::guard_fits(const draft& d) const {
  const auto there = claims_.guards.size();
  if (d.client.empty())
    return there < 1'000;
  if (there >= guard_bounds_.all)
    return false;
  std::map<std::string, std::size_t> counts{{d.client, 0}};
  for (const auto& [prefix, client] : claims_.guard_clients)
    ++counts[client];
  const auto own = counts.at(d.client);
  const bool another_has_more =
      std::any_of(counts.begin(), counts.end(), [own](const auto& each) { return each.second > own; });
  return there < guard_bounds_.all / 2 || another_has_more || own < guard_bounds_.share;
}

kv_model::received kv_model::run(draft& d, const state::guard_remove& c) {
  const auto it = claims_.guards.find(c.prefix);
  if (it == claims_.guards.end())
    return state::reply(true);
  if (c.fence != 0 && !is_valid({it->second, c.fence}))
    return refused_claim(claim_error::fence);
  claims_.guard_clients.erase(it->first);
  claims_.guards.erase(it);
  d.claims_changed = true;
  return state::reply(true);
}

// ---- restores

/// Rule 38.
void kv_model::claims_go_back(draft& d, const claims_state& then) {
  if (!claims_in_use_)
    return;
  const auto now = std::exchange(claims_, {});
  d.claims_changed = true;
  claims_.guards = then.guards;
  claims_.guard_clients = then.guard_clients;
  ended_.go_back(gathering_->archive, d.index, d.time);
  const auto shaped = [&](const resource_name& of) -> modelled_resource& {
    const auto [it, fresh] = claims_.resources.try_emplace(of);
    const auto *archived = then.find(of), *known = archived != nullptr ? archived : now.find(of);
    if (fresh && known != nullptr && of.space == claim_space::claims) {
      it->second.kind = known->kind;
      it->second.limit = known->limit;
      it->second.pinned = archived != nullptr && archived->pinned;
      it->second.open = known->open;
    }
    return it->second;
  };
  const auto keep_ghosts = [&](const claims_state& from) {
    for (const auto& [of, r] : from.resources)
      for (auto [fence, g] : r.ghosts) {
        g.until.value = std::min(g.until.value, d.time.value + longest_ghost_ms);
        if (g.until > d.time)
          shaped(of).ghosts[fence] = g;
      }
  };
  const auto may_return = [&](const resource_name& of, const modelled_claim& c) {
    return sessions_.find(c.session) != nullptr && ended_.find({of, c.id}) == nullptr &&
           claims_.find(of, c.id) == nullptr;
  };
  for (const auto& [of, r] : then.resources)
    if (r.pinned)
      shaped(of);
  keep_ghosts(then);
  keep_ghosts(now);
  std::vector<std::pair<resource_name, modelled_claim>> waiters;
  for (const auto& [of, r] : then.resources)
    for (const auto& [id, c] : r.claims) {
      if (!c.held)
        waiters.emplace_back(of, c);
      if (!c.held || !may_return(of, c))
        continue;
      const auto* held_now = now.find(of, id);
      auto back = c;
      if (held_now == nullptr || !held_now->held || held_now->session != c.session || held_now->fence != c.fence)
        back.fence = new_fence(d);
      shaped(of).claims[id] = std::move(back);
    }
  std::sort(waiters.begin(), waiters.end(),
            [](const auto& a, const auto& b) { return a.second.ticket < b.second.ticket; });
  last_ticket_ = 0;
  for (auto& [of, c] : waiters) {
    if (!may_return(of, c) || (of.space == claim_space::keys && holder_of(of.name) == c.session))
      continue;
    if (!c.deadline.is_zero())
      c.deadline.value = std::min(c.deadline.value, d.time.value + c.deadline.value - c.requested.value);
    c.ticket = ++last_ticket_;
    shaped(of).claims[c.id] = c;
  }
  for (const auto& [of, r] : now.resources)
    for (const auto& [id, c] : r.claims) {
      const auto* back = claims_.find(of, id);
      const auto* session = sessions_.past(c.session);
      if (c.held && !(back != nullptr && back->held && back->session == c.session) && session != nullptr)
        if (const auto until = delay_after(d, *session); until != 0) {
          PROBE("claims: a restore leaves a ghost");
          shaped(of).ghosts[c.fence] = {c.id, c.session, c.shared, c.permits, cluster_time{until}};
        }
      if (back == nullptr && !(of.space == claim_space::keys && holder_of(of.name) == c.session))
        ended_.put({of, id},
                   {claim_end::restored, c.session, d.index, cluster_time{d.time.value + remembered_ms}, c.client},
                   d.index);
    }
}

} // namespace belay::sim
