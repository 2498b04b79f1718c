// raft_peer: what the other actors of this node are told of its place in the cluster.

#include "actors/consensus/raft_peer.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/forward/leaderless.hpp"

#include <algorithm>
#include <optional>

namespace belay::actors {

namespace {

// A lease is told on only when it got longer by this much and less than half of the one told last is left, so that neither a busy leader
// sends a message with each append nor an idle one with each heartbeat.
constexpr std::chrono::milliseconds lease_step{20};

// Elections at the start of a server, and after a leader was lost, are over by then.
constexpr std::chrono::seconds leaderless_grace{2};
constexpr std::chrono::seconds leaderless_interval{10};
// Consul's.
constexpr std::chrono::seconds health_interval{2};

} // namespace

void raft_peer::publish_view() {
  const auto before = soft_;
  soft_ = core_.soft();
  if (soft_ != before) {
    const auto* leader = core_.config().find(soft_.leader);
    log::info("raft_peer", name_of(soft_.role),
              {{"node", self_.name},
               {"term", soft_.term.value},
               {"index", core_.last_index().value},
               {"commit", core_.commit_index().value},
               {"leader", leader != nullptr ? leader->name : std::string("none")}});
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
  history_told_ = history();
  cluster_view v{soft_, core_.config(), self_.id, serving_, cluster_clock_, history_told_};
  for (const auto& g : wires_->gateways)
    send(g, v);
  send(wires_->fsm, std::move(v));
  metrics_.raft_state(soft_.term.value, soft_.role == raft::role::leader);
}

void raft_peer::extend_lease() {
  const monotonic_time lease{handing_over_ ? raft::local_time{0} : core_.lease_until()};
  const bool lasts = lease_sent_ - now() > (lease - now()) / 2;
  if (lease == lease_sent_ || (lease > lease_sent_ && (lasts || lease < lease_sent_ + lease_step)))
    return;
  lease_sent_ = lease;
  send(wires_->fsm, lease_extended{lease});
}

std::string raft_peer::name_of_server(node_id id) const {
  if (id == self_.id)
    return self_.name;
  if (const auto* m = core_.config().find(id))
    return m->name;
  const auto* peer = formation_.find(id);
  return peer != nullptr ? peer->self.name : to_string(id);
}

/// With every tick.
void raft_peer::tell_log_of_no_leader() {
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
              {{"reason", forward::why_leaderless(formation_, core_.config(), connected_, named)},
               {"term", core_.term().value}});
  }
}

/// With every tick: what autopilot thinks of the servers, as metrics.
void raft_peer::say_health() {
  const auto t = local_now();
  if (!leading()) {
    if (std::exchange(next_health_, raft::local_time{0}) != raft::local_time{0})
      metrics_.autopilot_unknown();
    return;
  }
  if (t < next_health_)
    return;
  next_health_ = t + health_interval;
  const auto& rules = pilot_.rules();
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
  r.applied = log_index{vitals_->applied_index.load(std::memory_order_relaxed)};
  r.last = core_.last_index();
  r.first = core_.first_index();
  r.snapshot_index = checkpointed_;
  r.last_term = core_.term_at(core_.last_index());
  r.snapshot_term = checkpoint_term_;
  const auto heard = std::chrono::nanoseconds(vitals_->leader_heard_ns.load(std::memory_order_relaxed));
  r.ms_since_leader =
      heard.count() == 0
          ? -1
          : static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(local_now() - heard).count());
  r.digest = vitals_->digest.load(std::memory_order_relaxed);
  r.digest_at = log_index{vitals_->digest_index.load(std::memory_order_relaxed)};
  r.registered = {
      vitals_->agent_services.load(std::memory_order_relaxed), vitals_->agent_checks.load(std::memory_order_relaxed),
      vitals_->agent_ttls.load(std::memory_order_relaxed), vitals_->agent_monitors.load(std::memory_order_relaxed)};
  r.place = places_.own();
  if (s.what.kind == http::local_kind::coordinate_datacenters)
    r.servers = places_of_members();
  const auto progress = core_.progress();
  for (const auto& m : core_.config().members) {
    peer_status p;
    p.member = m;
    p.voter = core_.config().is_voter(m.id);
    p.replica = is_replica(m.id);
    p.connected = m.id == self_.id || connected_.contains(m.id);
    for (const auto& view : progress)
      if (view.id == m.id)
        p.progress = view;
    r.peers.push_back(std::move(p));
  }
  answer_gateway(*this, *wires_, s.id, std::move(r));
}

} // namespace belay::actors
