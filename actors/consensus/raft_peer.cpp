#include "actors/consensus/raft_peer.hpp"

#include "actors/telemetry/fatal_exceptions.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/wire/command_codec.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

// How long followers may lack a commit index that no append carries: blocking queries wake later
// there. Also how often to check whether entries have waited for raft::limits::append_gap.
constexpr std::chrono::milliseconds broadcast_delay{2};
// How often the watchdog needs a sign of progress of Raft (actors/service/service_reports.hpp).
constexpr std::chrono::milliseconds longest_sleep{250};
// The other members of a forward_reply take less than 100 bytes.
constexpr std::size_t forwarded_bytes_max = wire::frame_bytes_max - 1024;

/// The receiver would end the connection at a larger frame, with all that is under way on it.
wire::frame in_one_frame(const wire::forward_reply& r) {
  if (r.bytes.size() <= forwarded_bytes_max)
    return r;
  PROBE("peer: reply too large for a frame");
  return wire::forward_reply{r.id,
                             wire::call_outcome::unknown,
                             {},
                             "the write may have taken effect; its response of " + std::to_string(r.bytes.size()) +
                                 " bytes is too large to be forwarded"};
}

} // namespace

raft_peer::raft_peer(caf::actor_config& config, actor_host* host, node_actors_ptr node_actors,
                     raft_peer_settings settings, raft::member self, raft::formation formation,
                     raft::restored_state restored, std::shared_ptr<vitals> v, metrics& m)
    : hosted(config, host), node_actors_(std::move(node_actors)), settings_(std::move(settings)),
      self_(std::move(self)), formation_(std::move(formation)),
      core_(self_.id, settings_.limits, restored, settings_.seed), vitals_(std::move(v)), metrics_(m),
      checkpointed_(restored.snapshot.index), checkpoint_term_(restored.snapshot.term),
      coordinates_(self_.name, settings_.seed), calls_(self_.id, settings_.queued_calls_max),
      shedder_(settings_.shedding), barriers_(self_.id, settings_.seed) {
  level_committed_ = settings_.level_in_tables;
  if (!core_.config().joint())
    members_logged_ = core_.config();
  on_autopilot_changed({settings_.autopilot});
  end_node_by_exceptions_of(*this, node_actors_, "raft_peer");
  if (formation_.cluster_id() != 0 || restored.entries.empty())
    return;
  // The process ended between its first entry and the note of its cluster in the data directory.
  const auto& first = restored.entries.front();
  if (first.index != log_index{1} || first.kind != raft::entry_kind::configuration)
    return;
  const auto founders = raft::decode_configuration(*first.data);
  if (!founders)
    return;
  formation_.joined(raft::formation::cluster_id_of(*founders));
  note_due_ = formation_.cluster_id();
}

raft_peer_actor::behavior_type raft_peer::make_behavior() {
  return {
      [this](const propose_write& p) { on_propose_write(p); },
      [this](const renew_session& r) {
        queue_call({{self_.id, r.id}, wire::call_kind::renew_session, make_payload(r.sessions), queue_until()});
      },
      [this](const barrier_request& b) {
        enqueue_barrier({self_.id, b.id, b.lease_ok, queue_until(), {}, b.waits});
      },
      [this](const end_wait& w) { calls_.end_wait(w.id); },
      [this](const forwarded_results& f) {
        for (const auto& [to, reply] : f.list)
          queue_frame(to, in_one_frame(reply));
        schedule_flush();
      },
      [this](const log_written& w) { on_log_written(w); },
      [this](const frames_received& f) { on_frames(f); },
      [this](const peer_lost& p) { on_peer_lost(p); },
      [this](const propose_internal& p) { on_internal_proposal(p); },
      [this](const renew_answer& a) { on_renew_answer(a); },
      [this](const checkpoint_written& c) { on_checkpoint_written(c); },
      [this](const peer_connected& p) { on_peer_connected(p); },
      [this](const dialled_now& d) { on_dialled(d); },
      [this](broadcast_commit_atom) {
        broadcast_scheduled_ = false;
        core_.broadcast_commit();
        schedule_flush();
      },
      [this](const snapshot_chunk_loaded& s) { on_chunk_loaded(s); },
      [this](const snapshot_chunk_stored& s) { on_chunk_stored(s); },
      [this](const snapshot_in_force& s) { on_snapshot_in_force(s); },
      [this](const leadership_transfer& h) { on_leadership_transfer(h); },
      [this](const give_up_lease& g) { on_lease_given_up(g); },
      [this](const change_members& c) { on_change_members(c); },
      [this](const status_request& s) {
        if (s.what.kind == http::local_kind::keyring)
          begin_keyring(s);
        else if (s.what.kind == http::local_kind::agent_join)
          begin_join(s);
        else if (s.what.kind == http::local_kind::coordinate_update)
          put_coordinate(s);
        else
          answer_status(s);
      },
      [this](const autopilot_changed& a) { on_autopilot_changed(a); },
      [this](client_agent_answered& a) { answer_decided(a.from, std::move(a.reply)); },
      [this](const keyring_operated& k) { on_keyring_operated(k); },
      [this](tick_atom) {
        if (!wake_ups_.arrived(now()))
          return;
        on_tick();
        active_ = false;
        sleep();
      },
      [this](flush_atom) { flush(); },
      [this](stop_atom) { quit(); },
  };
}

// ---- batches

void raft_peer::schedule_flush() {
  active_ = true;
  if (flush_scheduled_)
    return;
  flush_scheduled_ = true;
  send(this, flush_atom::value);
}

void raft_peer::flush() {
  flush_scheduled_ = false;
  if (leading()) {
    cluster_now(); // its time begins now at the latest
    core_.time_is(local_now());
  }
  advance_calls();
  advance_barriers();
  // Two rounds: what the first one commits or elects may release queued requests.
  for (int round = 0; round < 2; ++round) {
    auto r = core_.take_ready();
    if (r.empty())
      break;
    carry_out(std::move(r));
    advance_calls();
    advance_barriers();
  }
  if (core_.coalesces())
    broadcast_commit_soon();
  note_cluster();
  write_next_batches();
  send_answers();
  send_outbox();
  extend_lease();
  if (sleeps_for_ > 1 && ticks_to_sleep() == 1)
    wake_ups_.ask(*this, *node_actors_, settings_.limits.tick, tick_atom::value);
}

void raft_peer::carry_out(raft::ready r) {
  if (r.lease_withdrawn)
    withdraw_lease({});
  if (r.persist) {
    INVARIANT(unwritten_.empty() || unwritten_.back().token + 1 == r.persist->token);
    INVARIANT(!unwritten_.empty() || in_flight_.empty() || in_flight_.back().token + 1 == r.persist->token);
    unwritten_.push_back(std::move(*r.persist));
  }
  for (auto& m : r.send_now) {
    const auto to = m.to;
    queue_frame(to, std::move(m));
  }
  if (r.proposals_unknown_from) {
    calls_.unknown_from(*r.proposals_unknown_from);
    delays_.forget();
    carry_out_calls();
  }
  if (!r.committed.empty())
    on_committed(std::move(r.committed));
  on_reads(r);
  for (auto& s : r.snapshot_reads)
    send(node_actors_->checkpointer, load_snapshot_chunk{s});
  for (auto& s : r.snapshot_writes)
    send(node_actors_->checkpointer, store_snapshot_chunk{std::move(s)});
  if (r.config_changed) {
    log_members(*r.config_changed);
    if (r.config_changed->contains(self_.id) && std::exchange(settings_.stays_out, false) && settings_.taken_in_again)
      settings_.taken_in_again();
    dial();
    form_cluster();
    notified_.clear();
    announce_self();
  }
  const bool serving = core_.is_leader() && core_.may_serve_reads();
  if (r.soft || r.config_changed || serving != serving_) {
    serving_ = serving;
    publish_view();
  }
}

void raft_peer::on_committed(std::vector<raft::entry> entries) {
  committed_entries c;
  for (const auto& e : entries)
    if (e.kind == raft::entry_kind::command && e.data)
      if (const auto needs = wire::needs_of(*e.data))
        level_committed_ = std::max(level_committed_, needs->level);
  INVARIANT(entries.back().index == core_.commit_index());
  c.origins = calls_.committed(entries);
  INVARIANT(c.origins.empty() || c.origins.size() == entries.size()); // the fsm answers them one by one
  vitals_->committed_index.store(entries.back().index.value);
  c.entries = std::move(entries);
  const bool awaited_elsewhere = std::any_of(c.origins.begin(), c.origins.end(),
                                             [this](const origin& o) { return !o.id.is_zero() && o.node != self_.id; });
  send(node_actors_->fsm, std::move(c));
  calls_.committed_here(core_.commit_index());
  if (const auto delay = delays_.committed(core_.commit_index(), local_now())) {
    shedder_.waited(forward::load_shedder::stage::log, *delay);
    metrics_.commit_time(*delay);
  }
  carry_out_calls();
  if (awaited_elsewhere) {
    core_.broadcast_commit();
  } else if (leading() && core_.config().members.size() > 1) {
    broadcast_commit_soon();
  }
}

void raft_peer::broadcast_commit_soon() {
  if (!std::exchange(broadcast_scheduled_, true))
    wake_after(*this, *node_actors_, broadcast_delay, broadcast_commit_atom::value);
}

void raft_peer::send_outbox() {
  if (outbox_.list.empty())
    return;
  send(node_actors_->peer_link, std::move(outbox_));
  outbox_ = {};
}

/// One tick if something is in progress that depends on ticks. Otherwise a single server sleeps
/// until its lease must be renewed, a leader until the next heartbeat is due, and a follower for
/// less than its election timeout.
int raft_peer::ticks_to_sleep() const {
  const auto& l = settings_.limits;
  const auto& members = core_.config();
  const bool busy = active_ || !is_steady(members) || writing_ || !unwritten_.empty() || !in_flight_.empty() ||
                    disk_full_ || handing_over_ || calls_.unfinished() > 0 || !barriers_.none_waiting() ||
                    !removals_.empty() || !additions_.empty() || !joins_.empty() || keyring_calls_ > 0 ||
                    note_due_ != 0 || core_.commit_index() != core_.last_index();
  if (busy)
    return 1;
  if (!leading())
    return core_.ticks_since_leader() <= l.election_ticks / 4 ? std::max(l.election_ticks / 3, 1) : 1;
  if (members.members.size() > 1)
    return std::max(l.heartbeat_ticks, 1);
  if (!connected_.empty()) // a connected server may want to join
    return 1;
  return std::clamp(static_cast<int>(longest_sleep / l.tick), 1, std::max(l.election_ticks / 2, 1));
}

/// The cluster is steady: its members are connected, and this server is one of them.
bool raft_peer::is_steady(const raft::configuration& members) const {
  const bool all_connected = connected_.size() + 1 >= members.members.size();
  return started_ && !members.joint() && members.contains(self_.id) && all_connected &&
         (leading() ? serving_ : !core_.soft().leader.is_zero());
}

/// Called after a tick.
void raft_peer::sleep() {
  sleeps_for_ = ticks_to_sleep();
  INVARIANT(sleeps_for_ >= 1);
  INVARIANT(leading() || sleeps_for_ <= settings_.limits.election_ticks); // it must notice that its leader is gone
  const std::chrono::nanoseconds tick = settings_.limits.tick;
  wake_ups_.ask(*this, *node_actors_, sleeps_for_ > 1 ? together(*this, sleeps_for_ * tick, tick) : tick,
                tick_atom::value);
}

/// The ticks of this sleep whose time has passed. Time beyond that, when the process was
/// paused, is not counted.
/// @param at_least 1: this is the end of the sleep
int raft_peer::take_ticks(int at_least) {
  const std::chrono::nanoseconds tick = settings_.limits.tick;
  const auto passed = (now() - ticked_at_ + (at_least > 0 ? tick / 2 : tick.zero())) / tick;
  const auto most = std::max(sleeps_for_ - 1 + at_least, at_least);
  const int n = static_cast<int>(std::clamp<std::int64_t>(passed, at_least, most));
  sleeps_for_ -= std::min(n, sleeps_for_ - 1);
  ticked_at_ = at_least > 0 ? now() : ticked_at_ + n * tick;
  return n;
}

/// Executes pending ticks before a newer message is processed.
void raft_peer::make_up_for_ticks() {
  if (sleeps_for_ <= 1)
    return;
  const int ticks = take_ticks(0);
  for (int n = ticks; n > 0; --n)
    core_.tick(local_now());
  count_silence(ticks);
}

/// Advances everything that depends on time, in this order: the Raft core, waiting calls and
/// barriers, formation and membership, then reports to operators and peers. schedule_flush()
/// carries out the results.
void raft_peer::on_tick() {
  const auto now = local_now();
  const int ticks = take_ticks(1);
  vitals_->raft_rounds.fetch_add(1, std::memory_order_relaxed);
  if (!started_) {
    started_ = true;
    began_ = this->now();
    announce_self();
    dial();
    publish_view();
  }
  for (int i = 0; i < ticks; ++i)
    core_.tick(now);
  if (leading())
    vitals_->leader_contact_ns.store(now.count(), std::memory_order_relaxed);
  ask_again();
  shedder_.look(now, calls_.unfinished());
  calls_.expire(now, leadership_now());
  carry_out_calls();
  follow_removals();
  follow_additions();
  follow_joins();
  keyrings_.expire(now);
  answer_keyring();
  barriers_.expire(now);
  carry_out_barriers();
  forget_silent_addresses(ticks);
  count_silence(ticks);
  for (int i = 0; i < ticks; ++i)
    formation_.tick(all_met());
  form_cluster();
  announce_history();
  look_at_members();
  bring_in_newcomers();
  transfer_if_replica();
  send_reachable_members();
  log_no_leader();
  log_no_majority(ticks);
  announce_health();
  gossip();
  exchange_coordinates();
  metrics_.raft_indexes(core_.last_index().value, core_.commit_index().value);
  schedule_flush();
}

// ---- peers and leadership

void raft_peer::on_peer_connected(const peer_connected& p) {
  const auto peer = p.peer;
  connected_.insert(peer);
  if (p.encrypted)
    encrypted_.insert(peer);
  else
    encrypted_.erase(peer);
  notified_.erase(peer);
  coordinates_.reconnected(peer);
  core_.peer_reachable(peer);
  metrics_.peers(connected_.size());
  schedule_flush();
}

void raft_peer::on_peer_lost(const peer_lost& p) {
  const auto peer = p.peer;
  connected_.erase(peer);
  encrypted_.erase(peer);
  keyrings_.lost(peer);
  answer_keyring();
  notified_.erase(peer);
  autopilot_.lost(peer);
  clocks_.lost(peer);
  coordinates_.reconnected(peer);
  if (const auto* known = formation_.find(peer); known != nullptr && core_.config().contains(peer))
    levels_seen_[peer] = known->level;
  if (formation_.is_replica(peer) && core_.config().contains(peer))
    replicas_seen_.insert(peer);
  // Frames of unknown peers are ignored, so a peer that still sends frames must stay known.
  if (!p.reachable) {
    formation_.lost(peer);
    coordinate_peers_.erase(peer);
  }
  announce_self();
  core_.peer_unreachable(peer);
  calls_.peer_lost(peer);
  carry_out_calls();
  barriers_.peer_lost(peer);
  metrics_.peers(connected_.size());
  schedule_flush();
}

void raft_peer::on_leadership_transfer(const leadership_transfer& h) {
  if (leading())
    withdraw_lease(h.to);
}

void raft_peer::withdraw_lease(node_id transfer_target) {
  if (!std::exchange(handing_over_, true))
    send(node_actors_->fsm, give_up_lease{transfer_target});
}

void raft_peer::on_lease_given_up(const give_up_lease& g) {
  handing_over_ = false;
  core_.lease_given_up();
  schedule_flush();
  if (g.to.is_zero())
    return;
  const bool begun = leading() && core_.transfer_leadership(g.to);
  log::info("raft_peer", begun ? "leadership transfer started" : "leadership transfer to that server not possible",
            {{"to", name_of_server(g.to)}, {"term", core_.term().value}});
}

void raft_peer::on_change_members(const change_members& c) {
  if (!leading() || !propose_members(c.target, "ordered"))
    log::info("raft_peer", "membership change not possible now; retried later", {{"term", core_.term().value}});
  schedule_flush();
}

} // namespace belay::actors
