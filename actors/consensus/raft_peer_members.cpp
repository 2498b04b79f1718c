// raft_peer: messages from peers, membership, and which members respond.

#include "actors/consensus/raft_peer.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/host_port.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/raft/configuration.hpp"
#include "protocol/state/feature_levels.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

// Addresses that peers send are dialled, so they must not be names that need a lookup.
constexpr std::size_t address_bytes_max = 64;
// A peer names those it knows once a second.
constexpr int learned_ticks_max = 2400;

bool may_be_numeric(const std::string& address) {
  return address.size() <= address_bytes_max && split_host_port(address).number() != 0 &&
         address.find_first_not_of("0123456789abcdefABCDEF.:[]") == std::string::npos;
}

/// Whether only leaders send it.
bool of_leader(const raft::message_body& body) {
  return std::holds_alternative<raft::append_entries>(body) || std::holds_alternative<raft::snapshot_chunk>(body);
}

/// Whether it may change the receiver's log or term.
bool binds(const raft::message_body& body) {
  const auto* vote = std::get_if<raft::vote_request>(&body);
  return of_leader(body) || (vote != nullptr && !vote->pre_vote);
}

} // namespace

void raft_peer::on_frames(const frames_received& f) {
  make_up_for_ticks();
  if (core_.config().contains(f.from))
    silent_ticks_[f.from] = 0;
  for (const auto& frame : f.list) {
    if (const auto* h = std::get_if<wire::hello>(&frame)) {
      on_hello(*h, f.proven);
      continue;
    }
    if (!formation_.belongs(f.from))
      continue;
    if (const auto* m = std::get_if<raft::message>(&frame)) {
      on_message(f.from, *m);
    } else if (const auto* c = std::get_if<wire::forward_call>(&frame)) {
      on_forward_call(f.from, *c);
    } else if (const auto* r = std::get_if<wire::forward_reply>(&frame)) {
      on_forward_reply(f.from, *r);
    } else if (const auto* q = std::get_if<wire::read_index>(&frame)) {
      on_read_index(f.from, *q);
    } else if (const auto* a = std::get_if<wire::read_index_reply>(&frame)) {
      on_read_index_reply(f.from, *a);
    } else if (const auto* e = std::get_if<agent::user_event>(&frame); e != nullptr) {
      if (core_.counts(f.from))
        send(node_actors_->health_checks, event_received{*e});
    } else if (const auto* g = std::get_if<wire::gossip>(&frame)) {
      on_gossip(f.from, *g);
    } else if (wire::is_about_coordinates(frame)) {
      on_coordinates(f.from, frame);
    } else if (f.proven && core_.config().contains(f.from)) {
      // The sender receives keys, so its own claim of identity is not enough.
      if (const auto* requested = std::get_if<wire::keyring_call>(&frame))
        on_keyring_call(f.from, *requested);
      else if (const auto* call_reply = std::get_if<wire::keyring_reply>(&frame))
        keyrings_.answered(call_reply->id, f.from, call_reply->answer);
    }
  }
  answer_keyring();
  const bool was_active = active_;
  schedule_flush();
  active_ = was_active; // ticks_to_sleep() detects what they started
}

void raft_peer::on_message(node_id from, const raft::message& m) {
  if (m.to != self_.id || m.from != from) // meant for an earlier life of this address
    return;
  if (!formation_.may_follow(from, of_leader(m.body)))
    return;
  if (of_leader(m.body) && !formation_.may_learn_from(from, core_.config())) {
    refuse_older_leader(from);
    return;
  }
  if (binds(m.body))
    formation_.bind(from);
  endorse(from);
  const auto now = local_now();
  core_.step(m, now);
  if (core_.soft().leader == from)
    vitals_->leader_contact_ns.store(now.count(), std::memory_order_relaxed);
}

void raft_peer::on_hello(const wire::hello& h, bool proven) {
  auto complaint = formation_.met({h.self,
                                   h.datacenter,
                                   h.cluster_id,
                                   h.bootstrap_expect,
                                   h.promises,
                                   {h.round, h.agreed, h.given_up, h.refused},
                                   h.has_log,
                                   h.reaches_cluster,
                                   h.disk_full,
                                   h.level,
                                   proven,
                                   h.has_replicas,
                                   h.replica});
  replicas_seen_.erase(h.self.id);
  if (h.coordinates && formation_.belongs(h.self.id))
    coordinate_peers_.insert(h.self.id);
  else
    coordinate_peers_.erase(h.self.id);
  const auto& members = core_.config();
  if (const auto* rival = formation_.rival_of(h.self, members); rival != nullptr && leading() && !complaint)
    complaint = "server " + h.self.name + " at " + h.self.address + " has the name, address or node ID of member " +
                rival->name + " at " + rival->address + ", which is alive: change its own";
  const auto* known = formation_.find(h.self.id);
  if (leading() && !complaint && known != nullptr && !formation_.admits(*known, members) &&
      !formation_.was_let_go(h.self.id))
    complaint = "server " + h.self.name + " is not a member: `belay operator raft add-peer -address=" + h.self.address +
                "` adds it";
  if (complaint && complaint_log_limit_.may_write(*complaint, now()))
    log::error("raft_peer", "server rejected: it is not a member of this cluster", {{"reason", *complaint}});
  learn(h);
  if (formation_.cluster_id() == 0)
    form_cluster(); // which announces what has changed
  else
    announce_self();
  announce_history(); // while a server cannot read cursors, none is sent
}

/// Servers that name only one seed find each other through it, as do members whose address changed.
void raft_peer::learn(const wire::hello& h) {
  const auto& members = core_.config();
  if (!formation_.belongs(h.self.id) || (!members.empty() && !members.contains(h.self.id)))
    return;
  bool news = false;
  for (const auto& address : h.known) {
    if (address == self_.address || !may_be_numeric(address))
      continue;
    if (!learned_.contains(address) && learned_.size() >= learned_max)
      break;
    news = learned_.insert_or_assign(address, 0).second || news;
  }
  if (news)
    dial();
}

void raft_peer::forget_silent_addresses(int ticks) {
  for (auto& [address, silent] : learned_)
    silent += ticks;
  if (std::erase_if(learned_, [](const auto& known) { return known.second > learned_ticks_max; }) > 0)
    dial();
}

std::vector<std::string> raft_peer::known_addresses() const {
  auto all = formation_.connected_addresses();
  for (const auto& m : core_.config().members)
    all.push_back(m.address);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::erase(all, self_.address);
  return all;
}

/// Whether every address that the configuration or a peer names has been reached.
bool raft_peer::all_met() const {
  const auto received = formation_.connected_addresses();
  const auto met = [&](const std::string& address) {
    return address == self_.address || std::find(received.begin(), received.end(), address) != received.end();
  };
  return std::all_of(settings_.join.begin(), settings_.join.end(), met) &&
         std::all_of(learned_.begin(), learned_.end(), [&](const auto& known) { return met(known.first); });
}

void raft_peer::announce_self() {
  const auto own = formation_.own();
  wire::hello h;
  h.self = own.self;
  h.datacenter = own.datacenter;
  h.cluster_id = own.cluster_id;
  h.bootstrap_expect = own.expect;
  h.agreed = own.first.set;
  h.level = settings_.level;
  h.known = known_addresses();
  h.has_log = own.has_log;
  h.reaches_cluster = own.reaches_cluster;
  h.disk_full = disk_full_ || no_space_for_snapshot_;
  h.promises = true;
  h.round = own.first.round;
  h.given_up = own.first.given_up;
  h.refused = own.first.refused;
  h.has_replicas = own.has_replicas;
  h.replica = own.replica;
  h.coordinates = settings_.coordinates;
  if (h == announced_)
    return;
  announced_ = h;
  send(node_actors_->peer_link, announce{std::move(h)});
}

void raft_peer::form_cluster() {
  if (formation_.cluster_id() != 0)
    return;
  if (!core_.term().is_zero() || !core_.last_index().is_zero())
    formation_.has_log();
  if (join_first_cluster()) {
    note_due_ = formation_.cluster_id();
    schedule_flush();
  }
  announce_self();
}

/// @returns whether this server belongs to a cluster now
bool raft_peer::join_first_cluster() {
  if (core_.config().contains(self_.id)) { // a leader has sent its cluster's configuration
    for (const auto& m : core_.config().members)
      if (const auto* peer = formation_.find(m.id); peer != nullptr && peer->cluster_id != 0) {
        formation_.joined(peer->cluster_id);
        return true;
      }
    return false;
  }
  if (auto next = formation_.next_promise(); next && settings_.promised(*next))
    formation_.promised(std::move(*next));
  const auto first = formation_.first_configuration();
  if (!first || !core_.bootstrap(*first))
    return false;
  log::info("raft_peer", "cluster formed", {{"servers", first->voters.size()}});
  formation_.joined(raft::formation::cluster_id_of(*first));
  return true;
}

/// Following this leader could make this server a voter.
void raft_peer::refuse_older_leader(node_id leader) {
  PROBE("peer: a replica does not follow a leader that knows no replicas");
  const auto* call_reply = formation_.find(leader);
  const auto why = "leader " + (call_reply != nullptr ? call_reply->self.name : to_string(leader)) +
                   " runs a version that does not support read replicas and would make this server a voter";
  if (complaint_log_limit_.may_write(why, now()))
    log::error("raft_peer", "this read replica does not follow the leader; it continues when another server leads",
               {{"reason", why},
                {"advice", "install this version on that server, or transfer the leadership to a server that has it"}});
}

void raft_peer::bring_in_newcomers() {
  formation_.forget_admissions(core_.meta_at_commit().config);
  if (!leading())
    return;
  std::string_view why = "state reported by servers";
  auto next = formation_.next_configuration(core_, &autopilot_);
  if (!next && autopilot_.cleanup_is_due()) {
    if (next = formation_.without_dead(core_, autopilot_); next)
      why = "removal of dead servers (cleanup_dead_servers)";
  }
  if (!next)
    next = formation_.next_demotion(core_, autopilot_);
  if (next)
    propose_members(*next, why);
}

bool raft_peer::propose_members(const raft::configuration& next, std::string_view why) {
  const auto before = core_.config();
  if (core_.propose_configuration(next, cluster_now()))
    return false;
  std::string changes;
  for (const auto& c : raft::changes_between(before, next))
    changes += (changes.empty() ? "" : "; ") + raft::text_of(c);
  log::info("raft_peer", "membership change started",
            {{"changes", changes}, {"reason", why}, {"term", core_.term().value}});
  return true;
}

void raft_peer::dial() {
  dial_peers d;
  d.addresses = settings_.join;
  for (const auto& m : core_.config().members) {
    d.members.emplace(m.id, m.address);
    if (m.id != self_.id && !settings_.stays_out)
      d.addresses.push_back(m.address);
  }
  for (const auto& [address, ticks] : learned_)
    d.addresses.push_back(address);
  send(node_actors_->peer_link, std::move(d));
}

void raft_peer::count_silence(int ticks) {
  for (auto it = silent_ticks_.begin(); it != silent_ticks_.end();) {
    it->second += ticks;
    const bool silent = it->second * settings_.limits.tick >= settings_.member_silence;
    it = silent || !core_.config().contains(it->first) ? silent_ticks_.erase(it) : std::next(it);
  }
}

/// On the leader a member must also answer appends, because the leader's catalog rows
/// depend on that (send_reachable_members).
bool raft_peer::is_alive(node_id member, const std::vector<raft::progress_view>& progress) const {
  if (member == self_.id)
    return true;
  return silent_ticks_.contains(member) && std::none_of(progress.begin(), progress.end(), [&](const auto& p) {
           return p.id == member && p.silent_ticks * settings_.limits.tick >= settings_.member_silence;
         });
}

void raft_peer::send_reachable_members() {
  if (!serving_)
    return;
  reachable_members h{core_.term(), {{self_.id, true}}};
  for (const auto& p : core_.progress()) {
    // Ticks, not time: a paused node cannot receive anything.
    if (p.silent_ticks * settings_.limits.tick >= settings_.member_silence)
      h.list.emplace_back(p.id, false);
    else if (!p.match.is_zero()) // it has responded in this term
      h.list.emplace_back(p.id, true);
  }
  if (h == contact_sent_)
    return;
  contact_sent_ = h;
  send(node_actors_->health_checks, std::move(h));
}

} // namespace belay::actors
