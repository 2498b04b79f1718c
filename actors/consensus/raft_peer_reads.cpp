// raft_peer: up to where a linearizable read must wait. The leader asks its quorum (or its lease), a follower asks the leader.

#include "actors/consensus/raft_peer.hpp"
#include "protocol/base/probe.hpp"

namespace belay::actors {

void raft_peer::request_barrier(held_barrier b) {
  barriers_waiting_.push_back(std::move(b));
  schedule_flush();
}

void raft_peer::try_barriers() {
  if (barriers_waiting_.empty())
    return;
  const auto leader = core_.soft().leader;
  const bool reachable = !leading() && !leader.is_zero() && connected_.contains(leader);
  if (!leading() && !reachable)
    return;
  const bool lease = leading() && core_.lease_until() > local_now();
  for (auto& b : std::exchange(barriers_waiting_, {})) {
    if (b.lease_ok && lease) {
      PROBE("peer: barrier answered under the lease");
      barrier_done(b, core_.commit_index());
      continue;
    }
    const auto attempt = read_ids_.next(); // never reused: R11
    if (leading()) {
      if (!core_.read(attempt)) {
        barriers_waiting_.push_back(std::move(b));
        continue;
      }
    } else if (b.asker != self_.id) { // asked while we led: the asker looks for the new leader itself
      PROBE("peer: barrier sent back, leadership lost");
      queue_frame(b.asker, wire::read_index_reply{b.id, false, {}});
      continue;
    } else {
      b.asked = leader;
      queue_frame(leader, wire::read_index{attempt, b.lease_ok});
    }
    barriers_asked_.emplace(attempt, std::move(b));
  }
}

void raft_peer::barrier_done(const held_barrier& b, log_index index) {
  if (b.asker == self_.id)
    send(wires_->fsm, barrier_result{b.id, true, index, {}});
  else
    queue_frame(b.asker, wire::read_index_reply{b.id, true, index});
}

void raft_peer::on_reads(const raft::ready& r) {
  for (const auto& c : r.reads_confirmed) {
    auto it = barriers_asked_.find(c.id);
    if (it == barriers_asked_.end())
      continue;
    barrier_done(it->second, c.index);
    barriers_asked_.erase(it);
  }
  for (auto id : r.reads_failed) {
    auto it = barriers_asked_.find(id);
    if (it == barriers_asked_.end())
      continue;
    barriers_waiting_.push_back(std::move(it->second));
    barriers_asked_.erase(it);
  }
}

void raft_peer::on_read_index(node_id from, const wire::read_index& q) {
  if (leading())
    request_barrier({from, q.id, q.lease_ok, now() + settings_.hold, {}});
  else
    queue_frame(from, wire::read_index_reply{q.id, false, {}});
  schedule_flush();
}

void raft_peer::on_read_index_reply(const wire::read_index_reply& r) {
  auto it = barriers_asked_.find(r.id);
  if (it == barriers_asked_.end() || it->second.asked.is_zero())
    return;
  if (r.ok)
    send(wires_->fsm, barrier_result{it->second.id, true, r.index, {}});
  else
    barriers_asked_in_vain_.push_back(std::move(it->second));
  barriers_asked_.erase(it);
}

void raft_peer::retry_barriers_at(node_id leader) {
  for (auto it = barriers_asked_.begin(); it != barriers_asked_.end();) {
    const auto asked = it->second.asked;
    if (asked.is_zero() || (leader.is_zero() ? asked == core_.soft().leader : asked != leader)) {
      ++it;
      continue;
    }
    PROBE("peer: barrier asked again of another leader");
    barriers_waiting_.push_back(std::move(it->second));
    it = barriers_asked_.erase(it);
  }
}

void raft_peer::expire_barriers() {
  const auto now = this->now();
  const auto fail = [this](const held_barrier& b) {
    PROBE("peer: barrier given up");
    if (b.asker == self_.id)
      send(wires_->fsm, barrier_result{b.id, false, {}, no_leader});
    else
      queue_frame(b.asker, wire::read_index_reply{b.id, false, {}});
  };
  std::erase_if(barriers_waiting_, [&](const held_barrier& b) {
    if (b.deadline > now)
      return false;
    fail(b);
    return true;
  });
  for (auto it = barriers_asked_.begin(); it != barriers_asked_.end();) {
    if (it->second.deadline > now) {
      ++it;
      continue;
    }
    fail(it->second);
    it = barriers_asked_.erase(it);
  }
}

} // namespace belay::actors
