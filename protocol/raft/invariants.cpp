#include "protocol/raft/invariants.hpp"

#include "protocol/raft/core_impl.hpp"
#include "protocol/raft/quorum.hpp"

#include <algorithm>

namespace belay::raft {

struct invariant_probe {
  static const core::impl& of(const core& c) { return *c.impl_; }
};

namespace {

const auto& inside(const core& c) {
  return invariant_probe::of(c);
}

/// Whether it is a voter by the configuration in force, or by the previous one, which may return.
bool may_have_votes(const auto& n) {
  const auto* before = n.log.config_index() > n.commit ? n.log.config_at(n.log.config_index().prev()) : nullptr;
  return n.config().is_voter(n.self) || (before != nullptr && before->is_voter(n.self));
}

} // namespace

#define RULE(condition)                                                                                                \
  do {                                                                                                                 \
    if (!(condition))                                                                                                  \
      return std::string(#condition) + " | " + c.describe();                                                           \
  } while (false)

bool settled(const core& c) {
  return !c.config().joint() && c.config() == c.meta_at_commit().config;
}

broken_rule check_node(const core& c) {
  const auto& n = inside(c);
  RULE(n.log.base() <= n.delivered);
  RULE(n.delivered <= n.commit);
  RULE(n.commit <= n.log.last());
  RULE(n.durable <= n.log.last());
  RULE(n.handed_out <= n.log.last());
  RULE(n.durable <= n.handed_out || n.durable <= n.delivered); // beyond that only a checkpoint makes durable
  RULE(n.log.last_term() <= n.hard.term);
  RULE(n.soft.term == n.hard.term);
  auto term = n.log.term_at(n.log.base());
  auto time = n.log.time_at(n.log.base());
  for (auto i = n.log.first(); i <= n.log.last(); i = i.next()) {
    const auto& e = n.log.at(i);
    RULE(e.index == i);
    RULE(e.term >= term);
    RULE(e.time >= time);
    RULE(e.data != nullptr);
    term = e.term;
    time = e.time;
  }
  log_index handed = n.durable;
  for (const auto& batch : n.unconfirmed)
    handed = std::max(handed, batch.last);
  RULE(handed == n.handed_out || n.restart_after || handed <= n.log.last());
  RULE(n.leading.has_value() == (n.soft.role == role::leader));
  if (n.leading) {
    const auto& l = *n.leading;
    RULE(n.soft.leader == n.self);
    RULE(n.hard.voted_for == n.self);
    // It steps down instead: docs/internals/pitfalls.md R5, and dissertation 6.2.
    RULE(n.persist_age_ticks() <= n.lim.stall_elections * n.lim.election_ticks);
    RULE(n.quorum_is_reachable(1));
    RULE(n.log.term_at(l.term_start) == n.hard.term || l.term_start <= n.log.base());
    for (const auto& [id, p] : l.followers) {
      RULE(id != n.self);
      RULE(p.match < p.next);
      RULE(p.match <= n.log.last());
      RULE(p.next <= n.log.last().next());
      RULE(p.round_acked <= l.round);
      RULE(p.inflight() <= n.lim.inflight_appends_max);
    }
    for (const auto& m : n.config().members)
      RULE(m.id == n.self || l.followers.contains(m.id));
  } else {
    RULE(n.soft.leader != n.self);
    RULE(c.lease_until() == local_time{0});
  }
  if (n.soft.role == role::candidate)
    RULE(n.hard.voted_for == n.self);
  return std::nullopt;
}

broken_rule step_check::observe(const core& c) {
  const auto& n = inside(c);
  // Dissertation 4.1: the configuration in force is the latest
  // in the log. (One from a checkpoint is not in the log.)
  const auto config = n.log.config_index();
  RULE(config <= n.log.last());
  RULE(config <= n.delivered || n.log.at(config).kind == entry_kind::configuration);
  if (!seen_) { // the previous process had it on disk
    RULE(n.hard.term >= durable_hard_.term);
    RULE(n.hard.term > durable_hard_.term || durable_hard_.voted_for.is_zero() ||
         n.hard.voted_for == durable_hard_.voted_for);
    RULE(n.log.last() >= durable_commit_);
  } else {
    RULE(n.hard.term >= term_);
    RULE(n.hard.term.value <= term_.value + term_leap_max);
    RULE(n.commit >= commit_);
    RULE(n.hard.term > term_ || vote_.is_zero() || n.hard.voted_for == vote_);
    // A leader only appends to its log.
    const bool leads_on = role_ == role::leader && n.soft.role == role::leader && n.hard.term == term_;
    RULE(!leads_on || n.log.last() >= last_);
    // Dissertation 3.6.2: only entries of its own term commit by counting (docs/internals/pitfalls.md R9).
    RULE(!leads_on || n.commit == commit_ || n.log.term_at(n.commit) == n.hard.term);
    if (leads_on && n.commit > commit_) { // dissertation 3.5, 10.2.1: on the disks of a majority
      const auto has_it = [&](node_id id) {
        if (id == n.self)
          return n.durable >= n.commit;
        const auto* p = n.leading->find(id);
        return p != nullptr && p->match >= n.commit;
      };
      // The quorum is of the configuration that was in force when the leader counted it: the latest
      // one at that time, possibly a joint one.
      const auto* then = n.log.config_at(n.commit);
      RULE(has_quorum(n.config(), has_it) || (then != nullptr && has_quorum(*then, has_it)));
    }
  }
  seen_ = true;
  term_ = n.hard.term;
  vote_ = n.hard.voted_for;
  commit_ = n.commit;
  role_ = n.soft.role;
  last_ = n.log.last();
  durable_hard_ = n.durable_hard;
  durable_commit_ = std::max(durable_commit_, std::min(n.commit, n.durable));
  return std::nullopt;
}

cluster_check::fact cluster_check::fact_of(const entry& e) {
  return {e.term, e.time, crc32c(*e.data, static_cast<std::uint32_t>(e.kind))};
}

broken_rule cluster_check::vote_sent(term_id term, node_id voter, node_id candidate, const core& c) {
  const auto& on_disk = inside(c).durable_hard;
  RULE(on_disk.term > term || (on_disk.term == term && on_disk.voted_for == candidate));
  const auto [it, fresh] = votes_.try_emplace({term, voter}, candidate);
  RULE(it->second == candidate); // one vote per term, forever
  return std::nullopt;
}

broken_rule cluster_check::sent(const core& c, const message& m) {
  const auto& n = inside(c);
  if (const auto* vote = std::get_if<vote_reply>(&m.body); vote != nullptr && vote->granted && !vote->pre_vote)
    return vote_sent(m.term, m.from, m.to, c);
  if (const auto* request = std::get_if<vote_request>(&m.body); request != nullptr && !request->pre_vote)
    return vote_sent(m.term, m.from, m.from, c);
  // A later leader may have truncated what was written in the term of the reply.
  if (const auto* reply = std::get_if<append_reply>(&m.body);
      reply != nullptr && reply->success && m.term == n.hard.term)
    RULE(n.durable_hard.term == m.term && n.durable >= reply->match);
  return std::nullopt;
}

broken_rule cluster_check::observe(const core& c) {
  const auto& n = inside(c);
  auto& checked = checked_[n.self];
  if (n.commit < checked) // restarted: it may have to learn the commit index again
    checked = n.commit;
  for (auto i = std::max(checked.next(), n.log.first()); i <= n.commit; i = i.next()) {
    const auto f = fact_of(n.log.at(i));
    const auto [it, fresh] = committed_.try_emplace(i, f);
    RULE(it->second.term == f.term); // state machine safety
    RULE(it->second.time == f.time);
    RULE(it->second.crc == f.crc);
    auto [in, first] = committed_in_.try_emplace(i, n.hard.term);
    in->second = std::min(in->second, n.hard.term);
  }
  checked = n.commit;
  auto& led = led_[n.self];
  const bool leads = n.soft.role == role::leader;
  if (leads) {
    const auto [it, fresh] = leaders_.try_emplace(n.hard.term, n.self);
    RULE(it->second == n.self); // election safety
  }
  if (leads && !led) {
    RULE(has_quorum(n.config(), [&](node_id id) {
      const auto vote = votes_.find({n.hard.term, id});
      return id == n.self || (vote != votes_.end() && vote->second == n.self);
    }));                     // dissertation 3.4
    RULE(may_have_votes(n)); // a learner does not campaign
    for (const auto& [i, f] : committed_) {
      if (committed_in_.at(i) > n.hard.term)
        continue;              // committed by a later leader unknown to this one
      RULE(i <= n.log.last()); // leader completeness
      RULE(i <= n.log.base() || n.log.term_at(i) == f.term);
    }
  }
  led = leads;
  return std::nullopt;
}

broken_rule cluster_check::compare(const core& one, const core& other) {
  const auto& a = inside(one);
  const auto& b = inside(other);
  const auto from = std::max(a.log.first(), b.log.first());
  bool equal = false;
  for (auto i = std::min(a.log.last(), b.log.last()); i >= from; i = i.prev()) {
    const auto& x = a.log.at(i);
    const auto& y = b.log.at(i);
    const bool same = x.term == y.term;
    if ((equal && !same) || (same && (x.time != y.time || x.kind != y.kind || *x.data != *y.data)))
      return "log matching at " + to_string(i) + " | " + one.describe() + " | " + other.describe();
    equal |= same;
  }
  return std::nullopt;
}

#undef RULE

} // namespace belay::raft
