#include "protocol/forward/pending_barriers.hpp"

#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"

#include <algorithm>
#include <iterator>

namespace belay::forward {

void pending_barriers::requested_by(node_id follower, const read_index& q, bool leading, local_time deadline) {
  const queued_barrier b{follower, q.id, q.lease_ok, deadline};
  if (leading)
    enqueue(b);
  else
    finish(b, false, {});
}

void pending_barriers::go_on(const leadership& now, log_index commit) {
  if (!now.here && now.elsewhere.is_zero()) {
    std::erase_if(waiting_, [this](const queued_barrier& b) {
      if (!b.waits)
        finish(b, false, {});
      return !b.waits;
    });
    return;
  }
  for (auto& b : std::exchange(waiting_, {})) {
    if (b.lease_ok && now.lease) {
      PROBE("peer: barrier answered under the lease");
      finish(b, true, commit);
      continue;
    }
    const auto attempt = attempts_.next(); // never reused: docs/internals/pitfalls.md R11
    if (now.here) {
      actions_.push_back(confirm_leadership{attempt});
    } else if (b.asker != self_) { // requested while this node led: the requester looks for the new leader
      PROBE("peer: barrier sent back, leadership lost");
      finish(b, false, {});
      continue;
    } else {
      b.requested = now.elsewhere;
      actions_.push_back(to_peer{now.elsewhere, read_index{attempt, b.lease_ok}});
    }
    requested_.emplace(attempt, std::move(b));
  }
}

void pending_barriers::finish(const queued_barrier& b, bool ok, log_index index) {
  if (b.asker == self_)
    actions_.push_back(barrier_done{b.id, ok, index});
  else
    actions_.push_back(to_peer{b.asker, read_index_reply{b.id, ok, index}});
}

void pending_barriers::confirmed(std::uint64_t attempt, log_index index) {
  const auto it = requested_.find(attempt);
  if (it == requested_.end())
    return;
  finish(it->second, true, index);
  requested_.erase(it);
}

void pending_barriers::failed(std::uint64_t attempt) {
  const auto it = requested_.find(attempt);
  if (it == requested_.end())
    return;
  waiting_.push_back(std::move(it->second));
  requested_.erase(it);
}

void pending_barriers::answered(node_id from, const read_index_reply& r) {
  const auto it = requested_.find(r.id);
  if (it == requested_.end() || it->second.requested.is_zero() || it->second.requested != from)
    return;
  if (r.ok)
    finish(it->second, true, r.index);
  else
    misdirected_.push_back(std::move(it->second));
  requested_.erase(it);
}

template <class Lost>
void pending_barriers::wait_again(Lost lost) {
  for (auto it = requested_.begin(); it != requested_.end();) {
    const auto requested = it->second.requested;
    if (requested.is_zero() || !lost(requested)) {
      ++it;
      continue;
    }
    PROBE("peer: barrier asked again of another leader");
    waiting_.push_back(std::move(it->second));
    it = requested_.erase(it);
  }
}

void pending_barriers::leader_changed(node_id leader) {
  wait_again([leader](node_id requested) { return requested != leader; });
  attempts_ = MUTANT(read_id_reused) ? fresh_numbers(seed_) : attempts_;
}

void pending_barriers::peer_lost(node_id peer) {
  wait_again([peer](node_id requested) { return requested == peer; });
}

// An immediate retry would repeat at once, at the speed of the network.
void pending_barriers::ask_again() {
  std::move(misdirected_.begin(), misdirected_.end(), std::back_inserter(waiting_));
  misdirected_.clear();
}

void pending_barriers::expire(local_time now) {
  const auto give_up = [this](const queued_barrier& b) {
    PROBE("peer: barrier given up");
    finish(b, false, {});
  };
  std::erase_if(waiting_, [&](const queued_barrier& b) {
    if (b.deadline > now || MUTANT(barrier_waits_for_ever))
      return false;
    give_up(b);
    return true;
  });
  for (auto it = requested_.begin(); it != requested_.end();) {
    if (it->second.deadline > now) {
      ++it;
      continue;
    }
    give_up(it->second);
    it = requested_.erase(it);
  }
}

} // namespace belay::forward
