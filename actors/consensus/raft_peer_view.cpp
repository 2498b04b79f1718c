// raft_peer: publishes this node's role and view of the cluster to the other actors of this node.

#include "actors/consensus/raft_peer.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/forward/leaderless.hpp"
#include "protocol/raft/configuration.hpp"

#include <algorithm>
#include <optional>

namespace belay::actors {

namespace {

// A lease is published only if it grew by this much and less than half of the last one is left.
// So a busy leader does not send a message with each append, nor an idle one with each heartbeat.
constexpr std::chrono::milliseconds lease_step{20};

// Time without a leader before that is logged. Elections at the start of a server, and after the
// loss of a leader, are over by then.
constexpr std::chrono::seconds leaderless_grace{2};
constexpr std::chrono::seconds leaderless_interval{10};
// As in Consul.
constexpr std::chrono::seconds health_interval{2};

} // namespace

void raft_peer::publish_view() {
  const auto before = soft_;
  soft_ = core_.soft();
  INVARIANT(soft_.term >= before.term);
  if (soft_ != before) {
    log_role(before);
    if (soft_.role == raft::role::leader && before.role != raft::role::leader)
      metrics_.leader_change();
    if (soft_.role == raft::role::candidate && (before.role != raft::role::candidate || soft_.term != before.term))
      metrics_.candidacy();
    if (soft_.leader != before.leader || soft_.term != before.term) {
      calls_.leader_changed(soft_.leader);
      carry_out_calls();
      barriers_.leader_changed(soft_.leader);
      ask_again();
    }
  }
  vitals_->standing.store(leading()                   ? cluster_standing::leads
                          : soft_.leader != node_id{} ? cluster_standing::follows
                                                      : cluster_standing::alone,
                          std::memory_order_relaxed);
  history_sent_ = history();
  cluster_view v{soft_, core_.config(), self_.id, serving_, cluster_clock_, history_sent_};
  for (const auto& g : node_actors_->gateways)
    send(g, v);
  send(node_actors_->fsm, std::move(v));
  metrics_.raft_state(soft_.term.value, soft_.role == raft::role::leader);
}

/// Logs why an election began, which server leads, and why a leader stepped down.
void raft_peer::log_role(const raft::soft_state& before) {
  using raft::role;
  const auto known = last_leader_.is_zero() ? std::string("none") : name_of_server(last_leader_);
  const auto campaigns = [](role r) { return r == role::pre_candidate || r == role::candidate; };
  if (before.role == role::leader && soft_.role != role::leader) {
    const auto why = core_.why_stepped_down();
    const bool trouble = why == raft::step_down_cause::no_quorum || why == raft::step_down_cause::stalled_disk;
    log::write(trouble ? log::level::warn : log::level::info, "raft_peer",
               "leadership lost; the next leader decides the outcome of pending writes",
               {{"node", self_.name}, {"reason", name_of(why)}, {"term", soft_.term.value}});
  }
  if (campaigns(soft_.role) && (!campaigns(before.role) || before.role == role::candidate)) {
    const auto received = std::chrono::nanoseconds(vitals_->leader_contact_ns.load(std::memory_order_relaxed));
    const auto silent = std::chrono::duration_cast<std::chrono::milliseconds>(local_now() - received);
    std::string reason(name_of(core_.why_election()));
    if (core_.why_election() == raft::election_cause::leader_silent && !connected_.contains(last_leader_))
      reason = "connection to the leader lost";
    log::info("raft_peer", "election started",
              {{"node", self_.name},
               {"reason", reason},
               {"last_leader", known},
               {"last_contact", received.count() == 0 ? std::string("never") : std::to_string(silent.count()) + "ms"},
               {"term", soft_.role == role::candidate ? soft_.term.value : soft_.term.next().value}});
  } else if (soft_.role == role::candidate) {
    log::debug("raft_peer", "votes requested", {{"node", self_.name}, {"term", soft_.term.value}});
  } else if (soft_.role == role::leader) {
    log::info("raft_peer", "leadership gained",
              {{"node", self_.name},
               {"term", soft_.term.value},
               {"index", core_.last_index().value},
               {"commit", core_.commit_index().value}});
  } else if (soft_.role == role::follower && !soft_.leader.is_zero() &&
             (soft_.leader != last_leader_ || soft_.term != last_leader_term_ || campaigns(before.role))) {
    const bool same = soft_.leader == last_leader_ && soft_.term == last_leader_term_;
    log::info("raft_peer", same ? "leader heard from again; election abandoned" : "leader elected",
              {{"node", self_.name},
               {"leader", name_of_server(soft_.leader)},
               {"term", soft_.term.value},
               {"index", core_.last_index().value},
               {"commit", core_.commit_index().value}});
  }
  if (!soft_.leader.is_zero()) {
    last_leader_ = soft_.leader;
    last_leader_term_ = soft_.term;
  }
}

/// Joint consensus is not logged: the configuration is not final before it ends.
void raft_peer::log_members(const raft::configuration& now) {
  using kind = raft::member_change::kind;
  if (now.joint())
    return;
  const auto before = std::exchange(members_logged_, now);
  for (const auto& c : raft::changes_between(before, now)) {
    std::string_view what;
    switch (c.what) {
    case kind::added:
      what = "member added";
      break;
    case kind::removed:
      what = "member removed";
      break;
    case kind::got_vote:
      what = "member became a voter";
      break;
    case kind::lost_vote:
      what = "member lost its vote";
      break;
    case kind::renamed:
      what = "member changed its name or address";
      break;
    }
    log::info("raft_peer", what,
              {{"server", c.who.name},
               {"id", c.who.uuid},
               {"address", c.who.address},
               {"votes", c.votes},
               {"voters", now.voters.size()}});
  }
}

void raft_peer::extend_lease() {
  const monotonic_time lease{handing_over_ ? raft::local_time{0} : core_.lease_until()};
  const bool lasts = lease_sent_ - now() > (lease - now()) / 2;
  if (lease == lease_sent_ || (lease > lease_sent_ && (lasts || lease < lease_sent_ + lease_step)))
    return;
  lease_sent_ = lease;
  send(node_actors_->fsm, lease_extended{lease});
}

std::string raft_peer::name_of_server(node_id id) const {
  if (id == self_.id)
    return self_.name;
  if (const auto* m = core_.config().find(id))
    return m->name;
  const auto* peer = formation_.find(id);
  return peer != nullptr ? peer->self.name : to_string(id);
}

/// Called on every tick.
void raft_peer::log_no_leader() {
  const auto t = local_now();
  if (!core_.soft().leader.is_zero()) {
    next_leaderless_line_ = raft::local_time{0};
  } else if (next_leaderless_line_ == raft::local_time{0}) {
    next_leaderless_line_ = t + leaderless_grace;
  } else if (t >= next_leaderless_line_) {
    next_leaderless_line_ = t + leaderless_interval;
    auto named = settings_.join;
    for (const auto& [address, ticks] : learned_)
      named.push_back(address);
    log::warn("raft_peer", "this server has no leader",
              {{"reason", forward::why_leaderless(formation_, core_.config(), connected_, named, disk_full_)},
               {"term", core_.term().value}});
  }
}

/// Called on every tick. Followers still answer heartbeats, so this server stays
/// the leader, but no majority stores its entries.
void raft_peer::log_no_majority(int ticks) {
  if (!leading())
    return commit_watch_.forget();
  const auto found = commit_watch_.look(core_.commit_index(), core_.last_index(), ticks * settings_.limits.tick);
  if (!found)
    return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(found->since).count();
  if (found->goes_on)
    return log::info("raft_peer", "a majority stores writes again",
                     {{"after_seconds", seconds}, {"commit", core_.commit_index().value}});
  const auto& config = core_.config();
  std::vector<diagnosis::voter_facts> voters;
  if (config.is_voter(self_.id))
    voters.push_back({self_.name, true, writing_ || disk_full_ ? core_.commit_index() : core_.last_index(), disk_full_,
                      writing_ ? now() - write_began_ : std::chrono::nanoseconds(0)});
  for (const auto& p : core_.progress()) {
    const auto* sent = formation_.find(p.id);
    if (config.is_voter(p.id))
      voters.push_back({name_of_server(p.id), false, p.match, sent != nullptr && sent->disk_full,
                        p.silent_ticks * settings_.limits.tick});
  }
  const auto missing = diagnosis::missing_for_commit(voters, core_.commit_index());
  log::warn("raft_peer", "no majority stores writes: writes wait, and clients receive errors",
            {{"missing", missing.empty() ? std::string("none: about to continue") : missing},
             {"for_seconds", seconds},
             {"commit", core_.commit_index().value},
             {"last", core_.last_index().value},
             {"term", core_.term().value},
             {"advice", "free space on the disks that are full, or restart the missing servers"}});
}

/// Called on every tick: publishes autopilot's view of the servers as metrics.
void raft_peer::announce_health() {
  const auto t = local_now();
  if (!leading()) {
    if (std::exchange(next_health_, raft::local_time{0}) != raft::local_time{0})
      metrics_.autopilot_unknown();
    return;
  }
  if (t < next_health_)
    return;
  next_health_ = t + health_interval;
  const auto& rules = autopilot_.rules();
  const auto report = health({rules.last_contact_threshold.count(), rules.max_trailing_logs, {}});
  metrics_.autopilot(report.healthy, report.failure_tolerance);
  std::optional<std::chrono::nanoseconds> longest;
  for (const auto& s : report.servers)
    if (s.voter && !s.leader)
      longest = std::max(longest.value_or(s.last_contact), s.last_contact);
  if (longest)
    metrics_.last_contact(*longest);
}

void raft_peer::answer_status(const status_request& s) {
  status_result r;
  r.id = s.id;
  r.view = {core_.soft(), core_.config(), self_.id, serving_};
  r.commit = core_.commit_index();
  r.leader_commit = core_.leader_commit();
  r.disk_full = disk_full_ || no_space_for_snapshot_;
  r.checkpoint_unproven = vitals_->checkpoint_unproven.load(std::memory_order_relaxed);
  r.applied = log_index{vitals_->applied_index.load(std::memory_order_relaxed)};
  r.last = core_.last_index();
  r.first = core_.first_index();
  r.snapshot_index = checkpointed_;
  r.last_term = core_.term_at(core_.last_index());
  r.snapshot_term = checkpoint_term_;
  const auto received = std::chrono::nanoseconds(vitals_->leader_contact_ns.load(std::memory_order_relaxed));
  r.ms_since_leader =
      received.count() == 0
          ? -1
          : static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(local_now() - received).count());
  r.digest = vitals_->digest.load(std::memory_order_relaxed);
  r.digest_at = log_index{vitals_->digest_index.load(std::memory_order_relaxed)};
  r.registered = {
      vitals_->agent_services.load(std::memory_order_relaxed), vitals_->agent_checks.load(std::memory_order_relaxed),
      vitals_->agent_ttls.load(std::memory_order_relaxed), vitals_->agent_monitors.load(std::memory_order_relaxed)};
  r.coordinate = coordinates_.own();
  if (s.what.kind == http::local_kind::coordinate_datacenters)
    r.servers = coordinates_of_members();
  const auto progress = core_.progress();
  for (const auto& m : core_.config().members) {
    peer_status p;
    p.member = m;
    p.voter = core_.config().is_voter(m.id);
    p.replica = is_replica(m.id);
    p.alive = is_alive(m.id, progress);
    for (const auto& view : progress)
      if (view.id == m.id)
        p.progress = view;
    r.peers.push_back(std::move(p));
  }
  answer_gateway(*this, *node_actors_, s.id, std::move(r));
}

} // namespace belay::actors
