#include "protocol/forward/pending_calls.hpp"

#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"

namespace belay::forward {

namespace {

// Texts for clients, like those of requests.hpp.
constexpr auto overloaded = "too many writes are waiting, try again";
constexpr auto connection_lost = "rpc error making call: EOF";
constexpr auto never_answered = "rpc error making call: i/o timeout";
// A leader keeps a call as long as this node would have, and then replies that it gave up. If even
// that reply is missing, the link is closed.
constexpr std::chrono::seconds forward_timeout{1};

} // namespace

// ---- queued

bool pending_calls::enqueue(queued_call c) {
  if (queued_.has_space_for(c)) {
    queued_.add(std::move(c));
    return true;
  }
  PROBE("peer: too many writes wait");
  respond(MUTANT(full_table_answers_nobody) ? origin{} : c.from, call_outcome::refused, overloaded);
  return false;
}

bool pending_calls::take_over(node_id from, const call& c, bool leading, local_time deadline) {
  if (leading)
    return enqueue({{from, c.id}, c.kind, c.bytes, deadline});
  PROBE("peer: write forwarded to one that does not lead");
  send_back({from, c.id});
  return true;
}

void pending_calls::go_on(const leadership& now) {
  if (queued_.empty())
    return;
  if (now.here)
    share_out(now);
  else if (!now.elsewhere.is_zero())
    forward_to(now.elsewhere);
}

/// Distributes calls among the log, the session timers and the leader's own decisions.
void pending_calls::share_out(const leadership& now) {
  std::vector<queued_call> batch;
  std::vector<renew_here> unconfirmed;
  for (auto& c : queued_.take_all()) {
    switch (c.kind) {
    case call_kind::renew_session:
      if (!now.serving)
        queued_.add(std::move(c));
      else if (now.lease || MUTANT(renewals_need_the_lease))
        actions_.push_back(renew_here{c.from, std::move(c.bytes), c.deadline});
      else
        unconfirmed.push_back({c.from, std::move(c.bytes), c.deadline});
      break;
    case call_kind::remove_member:
    case call_kind::describe_health:
      actions_.push_back(decide_here{std::move(c)});
      break;
    case call_kind::propose:
      if (c.required_term.is_zero() || c.required_term == now.term)
        batch.push_back(std::move(c));
    }
  }
  if (!unconfirmed.empty())
    confirm(std::move(unconfirmed));
  if (!batch.empty())
    actions_.push_back(propose_here{std::move(batch)});
}

void pending_calls::confirm(std::vector<renew_here> renewals) {
  PROBE("peer: renewal without a lease");
  unconfirmed_.emplace(++attempts_, std::move(renewals));
  actions_.push_back(confirm_leadership{attempts_});
}

void pending_calls::confirmed(std::uint64_t attempt) {
  const auto round = unconfirmed_.extract(attempt);
  if (round.empty())
    return;
  for (auto& r : round.mapped()) {
    r.confirmed = true;
    actions_.push_back(std::move(r));
  }
}

void pending_calls::failed(std::uint64_t attempt) {
  const auto round = unconfirmed_.extract(attempt);
  if (round.empty())
    return;
  for (auto& r : round.mapped())
    renewal_undecided(r.from, std::move(r.session), r.deadline);
}

void pending_calls::forward_to(node_id leader) {
  for (auto& c : queued_.take_all()) {
    if (c.from.node != self_) { // forwarded at most once (docs/internals/pitfalls.md R24)
      send_back(c.from);
      continue;
    }
    actions_.push_back(to_peer{leader, call{c.from.id, c.kind, c.bytes}});
    const auto id = c.from.id;
    forwarded_.insert_or_assign(id, forwarded_call{std::move(c), leader});
  }
}

/// Calls without origin are this node's own as a leader, and end here.
void pending_calls::send_back(const origin& from) {
  if (!from.id.is_zero())
    actions_.push_back(to_peer{from.node, reply{from.id, call_outcome::retry, {}, {}}});
}

// An immediate retry would repeat at once, at the speed of the network.
void pending_calls::ask_again() {
  for (auto& c : misdirected_.take_all())
    keep(queued_, std::move(c));
}

/// Queues again what was not proposed, or may be done twice. If there is no space it is rejected.
void pending_calls::keep(queued_calls& where, queued_call c) {
  if (where.has_space_for(c)) {
    where.add(std::move(c));
    return;
  }
  PROBE("peer: too many writes wait again");
  respond(c.from, call_outcome::refused, overloaded);
}

void pending_calls::end_wait(request_id id) {
  if (const auto it = forwarded_.find(id); it != forwarded_.end())
    it->second.requested.waits = false; // the leader may send it back
  else if (!queued_.empty() || !misdirected_.empty())
    ended_.insert(id);
}

/// Responds to calls whose deadline has passed. Those that were never proposed are rejected. Those
/// that were proposed or forwarded are unknown. Those that the leader has done are answered as
/// done, although this node lacks their entry.
void pending_calls::expire(local_time now, const leadership& leader) {
  const bool leaderless = !leader.here && leader.elsewhere.is_zero();
  if (!queued_.empty()) {
    for (auto& c : queued_.take_all()) {
      c.waits = c.waits && !(c.from.node == self_ && ended_.contains(c.from.id));
      if (c.deadline > now && (c.waits || !leaderless))
        queued_.add(std::move(c));
      else
        respond(c.from, call_outcome::refused, no_leader);
    }
  }
  ended_.clear();
  for (auto& [attempt, renewals] : unconfirmed_)
    std::erase_if(renewals, [&](const renew_here& r) {
      if (r.deadline > now)
        return false;
      respond(r.from, call_outcome::refused, no_leader);
      return true;
    });
  for (auto it = forwarded_.begin(); it != forwarded_.end();) {
    if (it->second.requested.deadline + forward_timeout > now || MUTANT(forwarded_write_waits_for_ever)) {
      ++it;
      continue;
    }
    PROBE("peer: forwarded write never answered");
    respond(it->second.requested.from, call_outcome::unknown, never_answered);
    it = forwarded_.erase(it);
  }
  // This node leads with a quorum that lacks the entry: a new member may be far behind.
  // Nodes that forward calls have their own deadline. Roughly ordered by deadline.
  for (auto& o : origins_) {
    if (o.deadline + forward_timeout > now || MUTANT(own_write_waits_for_ever))
      break;
    if (o.from.node != self_ || o.from.id.is_zero())
      continue;
    PROBE("peer: own write not committed in time");
    respond(std::exchange(o.from, origin{}), call_outcome::unknown, never_answered);
  }
  // Done, but this node does not receive the entry: its disk may be full.
  for (auto it = until_committed_.begin(); it != until_committed_.end();) {
    if (it->second.requested.deadline > now) {
      ++it;
      continue;
    }
    PROBE("peer: done write answered before the commit here");
    actions_.push_back(std::move(it->second));
    it = until_committed_.erase(it);
  }
}

// ---- proposed here

void pending_calls::proposed(log_index first, const std::vector<queued_call>& batch) {
  if (origins_.empty())
    origins_first_ = first;
  while (origins_first_.value + origins_.size() < first.value) // the core's own entries
    origins_.emplace_back();
  for (const auto& c : batch)
    origins_.push_back({c.from, c.deadline});
}

void pending_calls::not_proposed(std::vector<queued_call> batch) {
  PROBE("peer: write waits for its turn");
  for (auto& c : batch)
    keep(queued_, std::move(c));
}

std::vector<origin> pending_calls::committed(const std::vector<raft::entry>& entries) {
  std::vector<origin> found;
  if (origins_.empty())
    return found;
  const auto next = [this] {
    const auto front = origins_.front().from;
    origins_.pop_front();
    origins_first_ = origins_first_.next();
    return front;
  };
  found.reserve(entries.size());
  for (const auto& e : entries) {
    while (!origins_.empty() && origins_first_ < e.index) {
      PROBE("peer: snapshot in the place of an own write");
      respond(next(), call_outcome::unknown, leadership_lost); // the reply is unknown here
    }
    found.push_back(!origins_.empty() && origins_first_ == e.index ? next() : origin{});
  }
  return found;
}

void pending_calls::unknown_from(log_index first) {
  while (!origins_.empty() && origins_first_.value + origins_.size() > first.value) {
    PROBE("peer: own write unknown, leadership lost");
    respond(origins_.back().from, call_outcome::unknown, leadership_lost);
    origins_.pop_back();
  }
}

// ---- forwarded to the leader

bool pending_calls::answered(node_id from, reply r, log_index commit) {
  const auto it = forwarded_.find(r.id);
  if (it == forwarded_.end() || it->second.leader != from)
    return false;
  auto requested = std::move(it->second.requested);
  forwarded_.erase(it);
  if (r.outcome == call_outcome::retry) { // it was not proposed
    PROBE("peer: forwarded write asked again");
    keep(MUTANT(asked_again_at_once) ? queued_ : misdirected_, std::move(requested));
  } else if (r.outcome != call_outcome::done) {
    respond(requested.from, r.outcome, std::move(r.bytes));
  } else if (requested.kind == call_kind::renew_session) {
    actions_.push_back(pass_answer{std::move(requested), std::move(r)});
  } else {
    if (r.index > commit)
      PROBE("peer: answer waits for the commit here");
    const auto index = r.index;
    until_committed_.emplace(index, pass_answer{std::move(requested), std::move(r)});
    committed_here(commit);
  }
  return true;
}

void pending_calls::committed_here(log_index commit) {
  while (!until_committed_.empty() && until_committed_.begin()->first <= commit) {
    actions_.push_back(std::move(until_committed_.begin()->second));
    until_committed_.erase(until_committed_.begin());
  }
}

void pending_calls::renewal_undecided(const origin& from, payload session, local_time deadline) {
  PROBE("peer: renewal asked again");
  if (from.node == self_)
    keep(misdirected_, {from, call_kind::renew_session, std::move(session), deadline});
  else
    actions_.push_back(to_peer{from.node, reply{from.id, call_outcome::retry, {}, {}}});
}

template <class Lost>
void pending_calls::forwarded_unknown(Lost lost, const char* text) {
  for (auto it = forwarded_.begin(); it != forwarded_.end();) {
    auto& f = it->second;
    if (!lost(f.leader)) {
      ++it;
      continue;
    }
    PROBE("peer: forwarded unknown");
    if (f.requested.kind == call_kind::renew_session || MUTANT(forwarded_write_retried))
      keep(queued_, std::move(f.requested)); // harmless when done twice
    else
      respond(f.requested.from, call_outcome::unknown, text);
    it = forwarded_.erase(it);
  }
}

void pending_calls::leader_changed(node_id leader) {
  forwarded_unknown([leader](node_id requested) { return requested != leader; }, leadership_lost);
}

void pending_calls::peer_lost(node_id peer) {
  forwarded_unknown([peer](node_id requested) { return requested == peer; }, connection_lost);
}

void pending_calls::respond(const origin& to, call_outcome outcome, std::string text) {
  const auto outcome_sent =
      MUTANT(unknown_told_as_refused) && outcome == call_outcome::unknown ? call_outcome::refused : outcome;
  if (to.id.is_zero())
    return;
  if (to.node == self_)
    actions_.push_back(to_client{to.id, outcome_sent, std::move(text)});
  else
    actions_.push_back(to_peer{to.node, reply{to.id, outcome_sent, {}, std::move(text)}});
}

} // namespace belay::forward
