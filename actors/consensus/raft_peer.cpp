#include "actors/consensus/raft_peer.hpp"

#include "actors/telemetry/log.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

// How long a commit may stay unknown to followers when no append carries it: watches there fire that much later.
constexpr std::chrono::milliseconds spread_delay{2};
// A lease is told on only when it got longer by this much, so that a busy leader does not send one message per append.
constexpr std::chrono::milliseconds lease_step{20};
constexpr std::chrono::seconds disk_retry{1};

const char* name_of(raft::role r) {
  switch (r) {
  case raft::role::follower:
    return "follower";
  case raft::role::pre_candidate:
    return "pre_candidate";
  case raft::role::candidate:
    return "candidate";
  case raft::role::leader:
    return "leader";
  }
  return "?";
}

} // namespace

raft_peer::raft_peer(caf::actor_config& config, actor_host* host, wiring_ptr wires, raft_peer_settings settings,
                     raft::member self, raft::formation formation, raft::restored_state restored,
                     std::shared_ptr<vitals> v, metrics& m)
    : hosted(config, host), wires_(std::move(wires)), settings_(std::move(settings)), self_(std::move(self)),
      formation_(std::move(formation)), core_(self_.id, settings_.limits, restored, settings_.seed),
      vitals_(std::move(v)), metrics_(m), checkpointed_(restored.snapshot.index),
      checkpoint_term_(restored.snapshot.term), read_ids_(settings_.seed) {}

raft_peer_actor::behavior_type raft_peer::make_behavior() {
  return {
      [this](const propose_write& p) {
        hold_write({{self_.id, p.id}, p.kind, p.command, now() + settings_.hold});
      },
      [this](const renew_session& r) {
        hold_write({{self_.id, r.id}, wire::call_kind::renew_session, make_payload(r.session), now() + settings_.hold});
      },
      [this](const barrier_request& b) {
        request_barrier({self_.id, b.id, b.lease_ok, now() + settings_.hold, {}});
      },
      [this](const forwarded_results& f) {
        for (const auto& [to, reply] : f.list)
          queue_frame(to, reply);
        schedule_flush();
      },
      [this](const log_written& w) { on_log_written(w); },
      [this](const frames_received& f) { on_frames(f); },
      [this](const peer_lost& p) {
        connected_.erase(p.peer);
        formation_.lost(p.peer);
        core_.peer_unreachable(p.peer);
        forwarded_unknown(p.peer, "rpc error making call: EOF");
        retry_barriers_at(p.peer);
        metrics_.peers(connected_.size());
        schedule_flush();
      },
      [this](const propose_internal& p) {
        // R25: what a timer of an earlier leadership wants is not wanted any more.
        if (leading() && core_.term() == p.required_term)
          hold_write({{}, wire::call_kind::propose, p.command, now() + settings_.hold, p.required_term});
        else if (MUTANT(expiry_by_deposed_leader))
          hold_write({{self_.id, {}}, wire::call_kind::propose, p.command, now() + settings_.hold});
        else
          PROBE("peer: timer of an earlier leadership dropped");
      },
      [this](const renew_answer& a) { on_renew_answer(a); },
      [this](const checkpoint_written& c) {
        if (!c.error.empty())
          return;
        checkpointed_ = c.meta.index;
        checkpoint_term_ = c.meta.term;
        send(wires_->log, compact_log{core_.compact(c.meta, settings_.trailing_entries)});
      },
      [this](const peer_connected& p) {
        connected_.insert(p.peer);
        connected_since_ms_[p.peer] = settings_.wall_clock().value;
        metrics_.peers(connected_.size());
        schedule_flush();
      },
      [this](spread_atom) {
        spread_scheduled_ = false;
        core_.broadcast_commit();
        schedule_flush();
      },
      [this](const snapshot_chunk_loaded& s) {
        if (s.error.empty()) {
          core_.snapshot_loaded(s.to, s.chunk.meta, s.offset, s.chunk.bytes, s.chunk.last);
        } else {
          log::warn("raft_peer", "no snapshot to send yet", {{"to", s.to.value}, {"error", s.error}});
          core_.snapshot_unavailable(s.to);
        }
        schedule_flush();
      },
      [this](const snapshot_chunk_stored& s) {
        if (!s.error.empty()) {
          log::warn("raft_peer", "snapshot chunk refused", {{"index", s.meta.index.value}, {"error", s.error}});
          core_.snapshot_failed(s.meta.index);
        } else if (!s.last) {
          core_.snapshot_written(s.meta.index, s.next_offset);
        }
        schedule_flush();
      },
      [this](const snapshot_in_force& s) {
        core_.snapshot_installed(s.meta);
        checkpointed_ = std::max(checkpointed_, s.meta.index);
        schedule_flush();
      },
      [this](const hand_over_leadership& h) {
        if (!leading() || handing_over_)
          return;
        handing_over_ = true;
        send(wires_->fsm, give_up_lease{h.to});
      },
      [this](const give_up_lease& g) {
        handing_over_ = false;
        const bool begun = leading() && core_.transfer_leadership(g.to);
        log::info("raft_peer", begun ? "leadership is handed over" : "leadership cannot be handed over to that server",
                  {{"to", g.to.value}, {"term", core_.term().value}});
        schedule_flush();
      },
      [this](const change_members& c) {
        const bool begun = leading() && !core_.propose_configuration(c.target, settings_.wall_clock());
        log::info("raft_peer", begun ? "membership changes" : "membership cannot be changed now",
                  {{"voters", c.target.voters.size()}, {"term", core_.term().value}});
        schedule_flush();
      },
      [this](const status_request& s) { answer_status(s); },
      [this](tick_atom) {
        on_tick();
        wake_after(*this, *wires_, settings_.limits.tick, tick_atom::value);
      },
      [this](flush_atom) { flush(); },
      [this](stop_atom) { quit(); },
  };
}

// ---- turns

void raft_peer::schedule_flush() {
  if (flush_scheduled_)
    return;
  flush_scheduled_ = true;
  send(this, flush_atom::value);
}

void raft_peer::flush() {
  flush_scheduled_ = false;
  propose_held();
  try_barriers();
  // Two rounds: what the first one commits or elects may let held requests go on.
  for (int round = 0; round < 2; ++round) {
    auto r = core_.take_ready();
    if (r.empty())
      break;
    carry_out(std::move(r));
    propose_held();
    try_barriers();
  }
  write_next_batches();
  send_answers();
  send_outbox();
  extend_lease();
}

void raft_peer::carry_out(raft::ready r) {
  if (r.persist)
    unwritten_.push_back(std::move(*r.persist));
  for (auto& m : r.send_now) {
    const auto to = m.to;
    queue_frame(to, std::move(m));
  }
  if (r.proposals_unknown_from)
    writes_unknown_from(*r.proposals_unknown_from);
  if (!r.committed.empty()) {
    committed_entries c;
    take_origins(r.committed, c.origins);
    c.entries = std::move(r.committed);
    const bool awaited_elsewhere = std::any_of(
        c.origins.begin(), c.origins.end(), [this](const origin& o) { return !o.id.is_zero() && o.node != self_.id; });
    send(wires_->fsm, std::move(c));
    answer_committed();
    if (awaited_elsewhere) {
      core_.broadcast_commit();
    } else if (leading() && !spread_scheduled_ && core_.config().members.size() > 1) {
      spread_scheduled_ = true;
      wake_after(*this, *wires_, spread_delay, spread_atom::value);
    }
  }
  on_reads(r);
  for (auto& s : r.snapshot_reads)
    send(wires_->checkpoints, load_snapshot_chunk{s});
  for (auto& s : r.snapshot_writes)
    send(wires_->checkpoints, store_snapshot_chunk{std::move(s)});
  if (r.config_changed) {
    log::info("raft_peer", "configuration",
              {{"voters", r.config_changed->voters.size()},
               {"learners", r.config_changed->learners.size()},
               {"joint", r.config_changed->joint() ? 1 : 0}});
    dial();
    form_cluster();
  }
  const bool serving = core_.is_leader() && core_.may_serve_reads();
  if (r.soft || r.config_changed || serving != serving_) {
    serving_ = serving;
    publish_view();
  }
}

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
      forwarded_unknown({}, "leadership lost while committing log");
      retry_barriers_at({});
      ask_again();
      if (MUTANT(read_id_reused))
        read_ids_ = fresh_numbers(settings_.seed);
    }
  }
  cluster_view v{soft_, core_.config(), self_.id, serving_};
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

void raft_peer::write_next_batches() {
  if (writing_ || (disk_full_ && now() < retry_disk_at_))
    return;
  if (in_flight_.empty())
    in_flight_.swap(unwritten_);
  if (in_flight_.empty())
    return;
  writing_ = true;
  send(wires_->log, write_log{in_flight_});
}

void raft_peer::on_log_written(const log_written& w) {
  writing_ = false;
  if (!w.disk_full.empty()) {
    PROBE("peer: disk full");
    if (!disk_full_)
      log::error("raft_peer", "disk full: nothing can be acknowledged here until there is room",
                 {{"error", w.disk_full},
                  {"advice", "free space on the disk of the data directory; it is tried again every second"}});
    disk_full_ = true;
    retry_disk_at_ = now() + disk_retry;
    return;
  }
  if (disk_full_)
    log::info("raft_peer", "there is room on the disk again; going on", {{"index", core_.last_index().value}});
  disk_full_ = false;
  in_flight_.clear();
  core_.persisted(w.token, local_now());
  metrics_.commit(core_.commit_index().value);
  schedule_flush();
}

void raft_peer::send_outbox() {
  if (outbox_.list.empty())
    return;
  send(wires_->links, std::move(outbox_));
  outbox_ = {};
}

void raft_peer::on_tick() {
  const auto now = local_now();
  if (!started_) {
    started_ = true;
    announce_self();
    dial();
    publish_view();
  }
  core_.tick(now);
  if (leading())
    vitals_->leader_heard_ns.store(now.count(), std::memory_order_relaxed);
  ask_again();
  expire_writes();
  follow_removals();
  expire_barriers();
  form_cluster();
  bring_in_newcomers();
  tell_members_heard();
  metrics_.raft_indexes(core_.last_index().value, core_.commit_index().value);
  schedule_flush();
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
