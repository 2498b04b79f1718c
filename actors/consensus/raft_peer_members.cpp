// raft_peer: what peers say, who belongs to the cluster, and which of its members are heard.

#include "actors/consensus/raft_peer.hpp"
#include "actors/telemetry/log.hpp"

namespace belay::actors {

void raft_peer::on_frames(const frames_received& f) {
  const auto now = local_now();
  for (const auto& frame : f.list) {
    if (const auto* h = std::get_if<wire::hello>(&frame)) {
      on_hello(*h);
      continue;
    }
    if (!formation_.belongs(f.from))
      continue;
    if (const auto* m = std::get_if<raft::message>(&frame)) {
      if (m->to != self_.id || m->from != f.from) // meant for an earlier life of this address
        continue;
      const bool as_leader = std::holds_alternative<raft::append_entries>(m->body) ||
                             std::holds_alternative<raft::snapshot_chunk>(m->body);
      if (as_leader && !formation_.may_be_led_by(f.from))
        continue;
      vouch_for(f.from);
      core_.step(*m, now);
      if (core_.soft().leader == f.from)
        vitals_->leader_heard_ns.store(now.count(), std::memory_order_relaxed);
    } else if (const auto* c = std::get_if<wire::forward_call>(&frame)) {
      on_forward_call(f.from, *c);
    } else if (const auto* r = std::get_if<wire::forward_reply>(&frame)) {
      on_forward_reply(f.from, *r);
    } else if (const auto* q = std::get_if<wire::read_index>(&frame)) {
      on_read_index(f.from, *q);
    } else if (const auto* a = std::get_if<wire::read_index_reply>(&frame)) {
      on_read_index_reply(*a);
    } else if (const auto* e = std::get_if<agent::user_event>(&frame); e != nullptr) {
      send(wires_->health, event_heard{*e});
    } else if (const auto* g = std::get_if<wire::gossip>(&frame)) {
      on_gossip(f.from, *g);
    }
  }
  schedule_flush();
}

void raft_peer::on_hello(const wire::hello& h) {
  auto complaint = formation_.met({h.self, h.datacenter, h.cluster_id, h.bootstrap_expect, h.agreed, h.level});
  if (const auto* rival = formation_.rival_of(h.self, core_.config()); rival != nullptr && leading() && !complaint)
    complaint = "server " + h.self.name + " at " + h.self.address + " has the name, address or node ID of member " +
                rival->name + " at " + rival->address + ", which is alive: give it one of its own";
  if (complaint && complaints_[h.self.id] != *complaint) {
    complaints_[h.self.id] = *complaint;
    log::error("raft_peer", "a server that is not ours was refused", {{"reason", *complaint}});
  }
  form_cluster();
}

void raft_peer::announce_self() {
  auto own = formation_.own();
  send(wires_->links, announce{{own.self, own.datacenter, own.cluster_id, own.expect, own.agreed, state::own_level}});
}

void raft_peer::form_cluster() {
  if (formation_.cluster_id() != 0)
    return;
  if (core_.config().contains(self_.id)) { // a leader has told us of its cluster
    const auto leader_id = core_.soft().leader;
    const auto* leader = formation_.find(leader_id);
    if (leader_id == self_.id) // stopped between the first entry and its note in the data directory
      formation_.joined(raft::formation::cluster_id_of(core_.config()));
    else if (leader != nullptr && leader->cluster_id != 0)
      formation_.joined(leader->cluster_id);
    else
      return;
  } else if (auto first = formation_.first_configuration(); first && core_.bootstrap(*first)) {
    log::info("raft_peer", "first configuration", {{"servers", first->voters.size()}});
    formation_.joined(raft::formation::cluster_id_of(*first));
  } else {
    announce_self();
    return;
  }
  settings_.joined(formation_.cluster_id());
  announce_self();
  schedule_flush();
}

void raft_peer::bring_in_newcomers() {
  if (!leading())
    return;
  auto next = formation_.next_configuration(core_);
  if (!next)
    return;
  if (!core_.propose_configuration(*next, cluster_now()))
    log::info("raft_peer", "membership changes",
              {{"voters", next->voters.size()}, {"learners", next->learners.size()}});
}

void raft_peer::dial() {
  dial_peers d;
  d.addresses = settings_.join;
  for (const auto& m : core_.config().members) {
    d.members.push_back(m.id);
    if (m.id != self_.id)
      d.addresses.push_back(m.address);
  }
  send(wires_->links, std::move(d));
}

void raft_peer::tell_members_heard() {
  if (!serving_)
    return;
  members_heard h{core_.term(), {{self_.id, true}}};
  for (const auto& p : core_.progress()) {
    // Ticks, not time: while this node stood still nobody could be heard.
    if (p.silent_ticks * settings_.limits.tick >= settings_.member_silence)
      h.list.emplace_back(p.id, false);
    else if (!p.match.is_zero()) // it has answered in this term
      h.list.emplace_back(p.id, true);
  }
  if (h == told_heard_)
    return;
  told_heard_ = h;
  send(wires_->health, std::move(h));
}

} // namespace belay::actors
