// raft_peer: servers periodically send each other their clocks and known members.
// It decides whose requests are accepted, what all members support, and the time of entries.

#include "actors/consensus/raft_peer.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/wire/command_codec.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

constexpr std::chrono::seconds gossip_interval{5};
/// A member that has been silent for this long since this server began is taken to be lost for
/// good. Machines that are switched on together have started their servers by then.
constexpr std::chrono::seconds unheard_max{60};
/// A larger clock difference is logged; time synchronization leaves less.
constexpr std::chrono::milliseconds skew_worth_a_line{500};

} // namespace

// ---- gossip

/// Called on every tick. New peers, and those without the present configuration, need not wait.
void raft_peer::gossip() {
  if (now() >= next_gossip_) {
    next_gossip_ = now() + gossip_interval;
    notified_.clear();
  }
  if (notified_.size() >= connected_.size())
    return;
  wire::gossip g;
  for (const auto& m : core_.config().members)
    g.members.push_back(m.id);
  for (const auto peer : connected_) {
    const auto* known = formation_.find(peer);
    if (notified_.contains(peer) || known == nullptr || known->level == 0 || !formation_.belongs(peer))
      continue; // the peer may not understand gossip before it has announced a level
    notified_.insert(peer);
    g.clock = clocks_.sample_for(peer, settings_.wall_clock(), local_now());
    queue_frame(peer, g);
  }
}

void raft_peer::on_gossip(node_id from, const wire::gossip& g) {
  core_.members_received(from, g.members);
  if (!core_.config().contains(from))
    return;
  const auto skew = clocks_.received(from, g.clock, settings_.wall_clock(), local_now());
  metrics_.clock_skew(clocks_.largest());
  if (!skew)
    return;
  const auto distance = std::chrono::abs(skew->skew);
  if (distance - skew->error >= skew_worth_a_line) {
    if (!skewed_.insert(from).second)
      return;
    const auto* peer = formation_.find(from);
    log::warn(
        "raft_peer", "wall clocks differ",
        {{"server", peer != nullptr ? peer->self.name : to_string(from)},
         {"ahead_ms", skew->skew.count()},
         {"advice",
          "synchronize the clocks with a time server; locks and sessions do not depend on them, times in logs do"}});
  } else if (distance + skew->error < skew_worth_a_line && skewed_.erase(from) != 0) {
    log::info("raft_peer", "wall clocks agree again", {{"ahead_ms", skew->skew.count()}});
  }
}

/// A server without a cluster accepts the servers of any cluster whose leader it follows. Servers
/// without gossip cannot name their members. While such a server is a member, this server accepts
/// every peer with the cluster's id, as that one does. Otherwise a server that is behind could be
/// cut off for the whole upgrade.
void raft_peer::endorse(node_id from) {
  if (core_.counts(from))
    return;
  const auto* asking = formation_.find(from);
  if (asking == nullptr || asking->cluster_id == 0)
    return;
  if (formation_.cluster_id() == 0)
    return core_.members_received(self_.id, {from});
  if (asking->cluster_id != formation_.cluster_id())
    return;
  for (const auto& m : core_.config().members) {
    const auto* known = formation_.find(m.id);
    if (known == nullptr || known->cluster_id == 0 || known->level != 0)
      continue;
    PROBE("peer: vouched for, a member is of level 0");
    core_.members_received(m.id, {from});
    return;
  }
}

// ---- time

cluster_time raft_peer::cluster_now() {
  if (cluster_clock_.term() != core_.term() || MUTANT(cluster_time_stands_still))
    cluster_clock_.begin(core_.term(), MUTANT(leader_time_goes_back) ? cluster_time{} : core_.last_time(),
                         settings_.wall_clock(), local_now());
  return MUTANT(cluster_time_of_wall_clock) ? settings_.wall_clock() : cluster_clock_.at(local_now());
}

// ---- feature levels

std::optional<std::string> raft_peer::not_understood(std::string_view command, node_id by) const {
  const auto needs = wire::needs_of(command);
  if (!needs || needs->level <= level_committed_ || MUTANT(newer_kind_proposed))
    return std::nullopt;
  for (const auto& m : core_.config().members)
    if ((by.is_zero() || m.id == by) && level_of_member(m.id) < needs->level)
      return "server " + m.name + " may not have feature level " + std::to_string(needs->level) + ": install Belay " +
             needs->version + " or newer there, or remove it, and try again";
  return std::nullopt;
}

void raft_peer::log_upgrade(const std::string& why) {
  if (std::exchange(upgrade_logged_, why) != why)
    log::warn("raft_peer", "write postponed until all servers support it", {{"reason", why}});
}

/// A member that disconnected counts with its last level: it returns with that or a newer
/// one, or stops at what it cannot read.
state::feature_level raft_peer::level_of_member(node_id id) const {
  if (id == self_.id)
    return settings_.level;
  if (const auto* known = formation_.find(id))
    return known->level;
  const auto seen = levels_seen_.find(id);
  return seen == levels_seen_.end() ? state::feature_level{0} : seen->second;
}

/// A member that has been silent since this server began would keep the others from naming
/// histories for as long as it is lost. Its disk may be lost, too. What is written after such a
/// loss has to name the history.
state::history_scope raft_peer::history() {
  const auto& members = core_.config().members;
  const bool patient = began_ == monotonic_time{} || now() - began_ < unheard_max;
  const auto can_read = [&](const raft::member& m) {
    const bool reachable = m.id == self_.id || formation_.find(m.id) != nullptr || levels_seen_.contains(m.id);
    return reachable ? level_of_member(m.id) >= state::named_history_level : !patient;
  };
  const bool all = !members.empty() && std::all_of(members.begin(), members.end(), can_read);
  return {formation_.cluster_id(), all || MUTANT(history_named_too_early)};
}

void raft_peer::announce_history() {
  if (history() != history_sent_)
    publish_view();
}

} // namespace belay::actors
