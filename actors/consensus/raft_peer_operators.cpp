// raft_peer: operators' requests to the leader about the set of servers (docs/contract/12;
// protocol/forward/operator_calls.hpp).

#include "actors/consensus/raft_peer.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/host_port.hpp"
#include "protocol/forward/departure.hpp"
#include "protocol/go_compat/error_list.hpp"
#include "protocol/go_compat/quoting.hpp"
#include "protocol/raft/configuration.hpp"
#include "protocol/wire/command_codec.hpp"
#include "protocol/wire/operator_codec.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

/// The configuration without that server and without the learners that would have replaced it: they
/// would become surplus voters. nullopt: it is not in the configuration.
std::optional<raft::configuration> without(const raft::configuration& now, const forward::remove_member& which) {
  const bool by_id = which.by == forward::remove_member::named_by::id;
  const auto meant = [&](const raft::member& m) {
    return by_id ? m.uuid == which.name : with_brackets(m.address) == with_brackets(which.name);
  };
  auto found = std::find_if(now.members.begin(), now.members.end(),
                            [&](const raft::member& m) { return meant(m) && now.is_voter(m.id); });
  if (found == now.members.end())
    found = std::find_if(now.members.begin(), now.members.end(), meant);
  if (found == now.members.end())
    return std::nullopt;
  auto next = raft::without(now, found->id);
  for (const auto& m : now.members)
    if (!now.is_voter(m.id) && m.name == found->name && m.address == found->address)
      next = raft::without(std::move(next), m.id);
  return next;
}

std::string not_found(const forward::remove_member& which) {
  return std::string(name_of(which.by)) + " " + go_compat::quoted(which.name) +
         " was not found in the Raft configuration";
}

// Upper bound on pending joins, including those whose clients have gone away.
constexpr std::size_t joins_max = 64;
// Two attempts, and the lookup of a name.
constexpr std::chrono::seconds join_limit{5};

std::string uncapitalized(std::string text) {
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z')
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

/// Consul's text.
std::string not_joined(const std::string& address, const std::string& why) {
  return go_compat::error_list(
      {"Failed to join " + split_host_port(address).host + ": dial tcp " + address + ": " + why});
}

} // namespace

void raft_peer::decide(const forward::queued_call& c) {
  const auto call = wire::decode_operator_call(c.kind, *c.bytes);
  if (!call)
    return answer_decided(c.from, state::refusal{"malformed operator request"});
  if (const auto* rules = std::get_if<forward::describe_health>(&*call))
    answer_decided(c.from, http::render_health(health(*rules)));
  else if (const auto* add = std::get_if<forward::add_member>(&*call))
    begin_addition({c.from, *add, c.deadline});
  else if (const auto* agent = std::get_if<forward::agent_received>(&*call))
    note_client_agent(c.from, *agent);
  else if (const auto* leaving_member = std::get_if<forward::let_leave>(&*call))
    let_leave(c, leaving_member->id);
  else if (const auto* lost = std::get_if<forward::force_leave>(&*call))
    force_leave(c, lost->name);
  else
    begin_removal({c.from, std::get<forward::remove_member>(*call), c.deadline, "removed by an operator"});
}

/// Sends the leader's own response, not the result of a log entry.
void raft_peer::answer_decided(const forward::origin& to, state::reply reply) {
  if (to.id.is_zero())
    return;
  schedule_flush();
  if (to.node != self_.id) {
    queue_frame(to.node, wire::forward_reply{to.id, wire::call_outcome::done, {}, wire::encode_reply(reply)});
    return;
  }
  answer_here({to.id, wire::call_outcome::done, std::move(reply), {}, {}});
}

void raft_peer::note_client_agent(const forward::origin& from, const forward::agent_received& agent) {
  if (node_actors_->health_checks)
    send(node_actors_->health_checks, client_agent_contact{agent, from});
  else
    answer_decided(from, true);
}

/// Members that respond to this leader, itself included.
std::vector<node_id> raft_peer::members_that_answer() const {
  std::vector<node_id> reachable{self_.id};
  for (const auto& p : core_.progress())
    if (connected_.contains(p.id) && p.silent_ticks * settings_.limits.tick < settings_.member_silence)
      reachable.push_back(p.id);
  return reachable;
}

void raft_peer::let_leave(const forward::queued_call& c, const std::string& uuid) {
  const auto& members = core_.config().members;
  const auto leaving_member =
      std::find_if(members.begin(), members.end(), [&](const auto& m) { return m.uuid == uuid; });
  if (leaving_member == members.end())
    return answer_decided(c.from, true);
  if (auto why = forward::too_few_without(core_.config(), leaving_member->id, members_that_answer()))
    return answer_decided(c.from, state::refusal{"server " + leaving_member->name + " cannot leave: " + *why});
  formation_.let_go(leaving_member->id);
  begin_removal({c.from, {forward::remove_member::named_by::id, uuid}, c.deadline, "server leaves the cluster"});
}

void raft_peer::force_leave(const forward::queued_call& c, const std::string& name) {
  const auto& members = core_.config().members;
  const auto lost = std::find_if(members.begin(), members.end(), [&](const auto& m) { return m.name == name; });
  if (lost == members.end()) // Consul's text
    return answer_decided(c.from, state::refusal{"agent: No node found with name '" + name + "'"});
  if (lost->id == c.from.node) // a running server refutes that it has left, as in Consul,
                               // whose tests request this for the server itself
    return answer_decided(c.from, true);
  const auto reachable = members_that_answer();
  if (std::find(reachable.begin(), reachable.end(), lost->id) != reachable.end())
    return answer_decided(
        c.from, state::refusal{
                    "agent: server '" + name +
                    "' is alive: make it leave with /v1/agent/leave, or remove it with DELETE /v1/operator/raft/peer"});
  if (auto why = forward::too_few_without(core_.config(), lost->id, reachable))
    return answer_decided(c.from, state::refusal{"agent: server '" + name + "' cannot be removed: " + *why});
  begin_removal({c.from,
                 {forward::remove_member::named_by::id, lost->uuid},
                 c.deadline,
                 "failed server removed by an operator (force-leave)"});
}

void raft_peer::begin_removal(removal r) {
  const auto next = without(core_.config(), r.what);
  if (!next)
    return answer_decided(r.from, state::refusal{not_found(r.what)});
  if (next->voters.empty())
    return answer_decided(r.from, state::refusal{"need at least one voter in configuration: {[]}"});
  // If another change is in progress, the next tick tries again.
  r.begun = !core_.config().joint() && propose_members(*next, r.why);
  r.entry = core_.last_index();
  removals_.push_back(std::move(r));
}

/// Called on every tick.
void raft_peer::follow_removals() {
  for (auto& r : std::exchange(removals_, {})) {
    const bool there = core_.config().joint() || without(core_.config(), r.what);
    if (r.begun && !there && core_.commit_index() >= r.entry)
      answer_decided(r.from, true); // once the second half is in force, the first one is committed for good
    else if (!leading())
      respond(r.from, wire::call_outcome::unknown, forward::leadership_lost);
    else if (r.deadline <= local_now())
      respond(r.from, wire::call_outcome::unknown, "timed out enqueuing operation");
    else if (r.begun)
      removals_.push_back(std::move(r));
    else
      begin_removal(std::move(r));
  }
}

// ---- agent/join: by this server itself, as leader or follower

void raft_peer::begin_join(const status_request& s) {
  const auto& address = s.what.text;
  if (address == self_.address)
    return answer_decided({self_.id, s.id}, true);
  if (joins_.size() >= joins_max || (!learned_.contains(address) && learned_.size() >= learned_max))
    return respond({self_.id, s.id}, wire::call_outcome::refused, "too many joins are in progress: try again later");
  const bool fresh = learned_.insert_or_assign(address, 0).second;
  joins_.push_back({s.id, address, local_now() + join_limit, fresh});
  dial();
  send(node_actors_->peer_link, dial_now{address});
}

void raft_peer::on_dialled(const dialled_now& d) {
  for (auto& j : std::exchange(joins_, {}))
    if (j.address != d.address)
      joins_.push_back(std::move(j));
    else if (d.error.empty())
      answer_decided({self_.id, j.id}, true);
    else
      fail_join(j, "connect: " + uncapitalized(d.error));
  schedule_flush();
}

/// Called on every tick.
void raft_peer::follow_joins() {
  for (auto& j : std::exchange(joins_, {}))
    if (j.deadline > local_now())
      joins_.push_back(std::move(j));
    else
      fail_join(j, "i/o timeout");
}

void raft_peer::fail_join(const joining& j, const std::string& why) {
  if (j.fresh && learned_.erase(j.address) != 0)
    dial();
  answer_decided({self_.id, j.id}, state::refusal{not_joined(j.address, why)});
}

void raft_peer::begin_addition(addition a) {
  const auto& [address, id] = a.what;
  if (id.empty() && split_host_port(address).number() == 0)
    return answer_decided(a.from, state::refusal{"address " + go_compat::quoted(address) + " is not host:port"});
  formation_.admit(id.empty() ? address : id);
  if (id.empty()) { // an ID alone does not lead to a server: that server has to connect to one of us
    learned_[address] = 0;
    dial();
  }
  additions_.push_back(std::move(a));
}

/// Called on every tick.
void raft_peer::follow_additions() {
  const bool settled = !core_.config().joint() && core_.meta_at_commit().config == core_.config();
  for (auto& a : std::exchange(additions_, {})) {
    const auto& members = core_.config().members;
    const auto& [address, id] = a.what;
    const bool there =
        std::any_of(members.begin(), members.end(), [&id = id, &address = address](const raft::member& m) {
          return id.empty() ? with_brackets(m.address) == with_brackets(address) : m.uuid == id;
        });
    if (!leading())
      respond(a.from, wire::call_outcome::unknown, forward::leadership_lost);
    else if (there && settled)
      answer_decided(a.from, true);
    else if (a.deadline <= local_now())
      answer_decided(a.from, state::refusal{"server " + (id.empty() ? address : id) +
                                            " has not connected yet (or its name or node ID is that of a member); it "
                                            "will be added when it connects"});
    else
      additions_.push_back(std::move(a));
  }
}

} // namespace belay::actors
