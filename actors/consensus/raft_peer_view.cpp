// raft_peer: what the other actors of this node are told of its place in the cluster.

#include "actors/consensus/raft_peer.hpp"
#include "actors/telemetry/log.hpp"

namespace belay::actors {

namespace {

// A lease is told on only when it got longer by this much, so that a busy leader does not send one message per append.
constexpr std::chrono::milliseconds lease_step{20};

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
    if (soft_.role == raft::role::leader && before.role != raft::role::leader) {
      metrics_.leader_change();
      led_since_ms_ = settings_.wall_clock().value;
    }
    if (soft_.leader != before.leader || soft_.term != before.term) {
      calls_.leader_changed(soft_.leader);
      carry_out_calls();
      barriers_.leader_changed(soft_.leader);
      ask_again();
    }
  }
  cluster_view v{soft_, core_.config(), self_.id, serving_, cluster_clock_};
  for (const auto& g : wires_->gateways)
    send(g, v);
  send(wires_->fsm, std::move(v));
  metrics_.raft_state(soft_.term.value, soft_.role == raft::role::leader);
}

void raft_peer::extend_lease() {
  const monotonic_time lease{handing_over_ ? raft::local_time{0} : core_.lease_until()};
  if (lease == lease_sent_ || (lease > lease_sent_ && lease < lease_sent_ + lease_step))
    return;
  lease_sent_ = lease;
  send(wires_->fsm, lease_extended{lease});
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
  const auto progress = core_.progress();
  for (const auto& m : core_.config().members) {
    peer_status p;
    p.member = m;
    p.voter = core_.config().is_voter(m.id);
    p.connected = m.id == self_.id || connected_.contains(m.id);
    for (const auto& view : progress)
      if (view.id == m.id)
        p.progress = view;
    r.peers.push_back(std::move(p));
  }
  const auto g = gateway_of(s.id);
  if (g < wires_->gateways.size())
    send(wires_->gateways[g], std::move(r));
}

} // namespace belay::actors
