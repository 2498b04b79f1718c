#include "protocol/raft/autopilot.hpp"

#include "protocol/base/probe.hpp"
#include "protocol/raft/configuration.hpp"

#include <algorithm>

namespace belay::raft {

namespace {

// Consul's autopilot_interval.
constexpr std::chrono::seconds cleanup_interval{10};

} // namespace

void autopilot::begin_look(const core& leader, local_time now) {
  PRECONDITION(leader.term() >= term_);
  now_ = now;
  if (leader.term() != term_) {
    term_ = leader.term();
    seen_.clear();
    next_cleanup_ = now + cleanup_interval;
  }
  std::erase_if(seen_, [&](const auto& each) { return !leader.config().contains(each.first); });
}

void autopilot::saw(node_id id, bool healthy) {
  const auto [it, fresh] = seen_.try_emplace(id, state_of_member{healthy, now_});
  if (it->second.healthy != healthy)
    it->second = {healthy, now_};
}

std::optional<local_time> autopilot::unchanged_since(node_id id) const {
  const auto it = seen_.find(id);
  return it == seen_.end() ? std::nullopt : std::optional(it->second.since);
}

bool autopilot::may_vote(node_id learner) const {
  const auto it = seen_.find(learner);
  return it != seen_.end() && it->second.healthy && now_ - it->second.since >= rules_.stabilization;
}

bool autopilot::cleanup_is_due() {
  if (!rules_.cleanup_dead_servers || now_ < next_cleanup_)
    return false;
  next_cleanup_ = now_ + cleanup_interval;
  return true;
}

std::optional<configuration> autopilot::without_dead(const configuration& now, const std::set<node_id>& dead) const {
  const auto dead_voters = static_cast<std::size_t>(
      std::count_if(now.voters.begin(), now.voters.end(), [&](node_id id) { return dead.contains(id); }));
  const bool voters_too = dead_voters < now.voters.size() / 2 && enough(now.voters.size() - dead_voters);
  auto next = now;
  for (const auto id : dead)
    if (voters_too || !now.is_voter(id))
      next = without(std::move(next), id);
  if (next == now)
    return std::nullopt;
  INVARIANT(next.voters.size() > now.voters.size() / 2); // they could not have committed the removal otherwise
  PROBE("autopilot: dead servers are removed");
  return next;
}

} // namespace belay::raft
