// raft_peer: operators' requests about the keys of all members (protocol/forward/keyring.hpp).
// The receiver sends them to all members itself: keys must be rotatable without a leader.

#include "actors/consensus/raft_peer.hpp"
#include "protocol/http/operators/keyring_report.hpp"
#include "protocol/state/feature_levels.hpp"

namespace belay::actors {

namespace {

// A member requests one operation at a time for each client; no rotation of keys needs more.
constexpr std::size_t keyring_calls_max = 64;

} // namespace

void raft_peer::begin_keyring(const status_request& s) {
  auto who = std::vector<forward::keyring_rounds::member>{};
  for (const auto& m : core_.config().members)
    who.push_back({m.id, m.name});
  if (!core_.config().contains(self_.id))
    who.push_back({self_.id, self_.name});
  if (!keyrings_.begin(s.id, s.what.keys, s.what.local_only, who, queue_until()))
    return respond({self_.id, s.id}, wire::call_outcome::refused, "too many keyring operations are in progress");
  on_keyring_call(self_.id, {s.id, s.what.keys});
}

/// This server has carried it out itself, or failed.
void raft_peer::pass_keyring_on(request_id id, const forward::keyring_answer& own) {
  const auto* what = keyrings_.operation(id);
  if (what == nullptr)
    return;
  for (const auto& m : core_.config().members) {
    if (m.id == self_.id)
      continue;
    if (auto why = not_to_be_requested(m.id); !why.empty())
      keyrings_.not_requested(id, m.id, std::move(why));
    else if (encrypted_.contains(m.id))
      queue_frame(m.id, wire::keyring_call{id, *what});
    else if (
        own.no_keyring) // keys are not sent in the clear; without a keyring here, unencrypted peers have none either
      keyrings_.answered(id, m.id, own);
    else
      keyrings_.not_requested(id, m.id, "the connection to it is not encrypted, and keys are never sent unencrypted");
  }
  keyrings_.answered(id, self_.id, own);
}

/// Returns why the member cannot be sent the operation; empty: it can.
std::string raft_peer::not_to_be_requested(node_id member) const {
  if (!connected_.contains(member))
    return "not connected";
  if (level_of_member(member) < state::keyring_level)
    return "its version does not support this operation: install Belay " +
           std::string(state::first_version_of(state::keyring_level)) + " or newer there (feature level " +
           std::to_string(state::keyring_level) + ")";
  return {};
}

void raft_peer::on_keyring_call(node_id from, const wire::keyring_call& c) {
  const forward::origin asking{from, c.id};
  if (!node_actors_->keyring_keeper) {
    std::vector<std::string> none;
    ++keyring_calls_;
    return on_keyring_operated({asking, forward::operate_on(none, c.what)});
  }
  ++keyring_calls_;
  if (keyring_calls_ > keyring_calls_max)
    return on_keyring_operated({asking, {false, "too many keyring operations are in progress", {}, false}});
  send(node_actors_->keyring_keeper, operate_keyring{asking, c.what});
}

void raft_peer::on_keyring_operated(const keyring_operated& k) {
  PRECONDITION(keyring_calls_ > 0);
  --keyring_calls_;
  if (k.from.node == self_.id) {
    pass_keyring_on(k.from.id, k.answer);
    answer_keyring();
  } else if (encrypted_.contains(k.from.node)) {
    queue_frame(k.from.node, wire::keyring_reply{k.from.id, k.answer});
  }
  schedule_flush();
}

void raft_peer::answer_keyring() {
  for (const auto& o : keyrings_.take_finished()) {
    schedule_flush();
    const auto datacenter = formation_.own().datacenter;
    if (auto complaint = http::keyring_complaint(o, datacenter); !complaint.empty())
      answer_here({o.id, wire::call_outcome::refused, {}, {}, std::move(complaint)});
    else if (o.requested.verb == forward::keyring_verb::list)
      answer_here({o.id, wire::call_outcome::done, http::render_keyring(o, datacenter), {}, {}});
    else
      answer_here({o.id, wire::call_outcome::done, true, {}, {}});
  }
}

} // namespace belay::actors
