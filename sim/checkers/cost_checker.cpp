#include "sim/checkers/cost_checker.hpp"

#include <variant>

namespace belay::sim {

namespace {

// Bounds for a quiet run. A probe and the first entries of a term may be sent twice.
constexpr std::uint64_t entries_more_per_cent = 25, entries_more = 200;

} // namespace

void cost_checker::sent(const raft::message& m) {
  if (std::holds_alternative<raft::timeout_now>(m.body))
    handed_over_.emplace(m.to, m.term);
  else if (const auto* append = std::get_if<raft::append_entries>(&m.body))
    entries_sent_[m.to] += append->entries.size();
}

// A follower whose election timeout expires requests pre-votes first (dissertation 9.6). It
// campaigns at once only on timeout_now of its leader, or as the only voter.
broken cost_checker::changed(const raft::soft_state& before, const raft::core& now) const {
  if (before.role != raft::role::follower || now.soft().role != raft::role::candidate ||
      now.term() != before.term.next())
    return std::nullopt;
  if (handed_over_.contains({now.self(), before.term}) || now.config().voters.size() == 1)
    return std::nullopt;
  return "server " + to_string(now.self()) + " campaigns in term " + to_string(now.term()) +
         " at once, and no leader of term " + to_string(before.term) + " has requested that";
}

// The check uses what the leader knew when it decided.
broken cost_checker::leads(const raft::core& leader) {
  for (const auto& p : leader.progress()) {
    if (p.state != raft::follower_state::snapshot) {
      snapshots_.erase({leader.self(), p.id});
      continue;
    }
    if (snapshots_.emplace(leader.self(), p.id).second && !p.match.is_zero() && p.match.next() >= leader.first_index())
      return "the leader, server " + to_string(leader.self()) + ", begins a snapshot for server " + to_string(p.id) +
             ", which has the log up to " + to_string(p.match) + ", and has all entries from " +
             to_string(leader.first_index()) + " on";
  }
  return std::nullopt;
}

broken cost_checker::finish(std::uint64_t elections, log_index committed) const {
  if (!quiet_)
    return std::nullopt;
  if (elections > 1)
    return "there was no fault, but there were " + std::to_string(elections) + " elections";
  for (const auto& [to, sent] : entries_sent_)
    if (sent > committed.value * (100 + entries_more_per_cent) / 100 + entries_more)
      return "there was no fault, but " + std::to_string(sent) + " entries were sent to server " + to_string(to) +
             " for a log of " + std::to_string(committed.value);
  return std::nullopt;
}

} // namespace belay::sim
