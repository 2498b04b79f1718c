// health_checks: the leader's catalog rows of client agents (protocol/agent/client_agents.hpp).

#include "actors/agent/health_checks.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/state/folded_name.hpp"
#include "protocol/wire/command_codec.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

constexpr std::chrono::milliseconds look_interval{250};
constexpr std::size_t looks_at_once_max = 64;
// Less than an agent waits for the response (beat_limit in relay_calls.hpp).
constexpr std::chrono::milliseconds new_agent_limit{2000};
constexpr std::size_t new_agents_max = 1000;
// A limit for safety only, as for any read: raft_peer always responds.
constexpr std::chrono::seconds rows_limit{60};

std::set<std::string> servers_of(const raft::configuration& c) {
  std::set<std::string> ids;
  for (const auto& m : c.members)
    ids.insert(m.uuid);
  return ids;
}

} // namespace

void health_checks::on_client_agent(const client_agent_contact& h) {
  const auto& a = h.agent;
  const agent::client_agents::identity who{a.name, a.uuid, a.address};
  const agent::client_agents::evidence by{a.source, a.proof, a.authenticated};
  if (auto why = refusal_of(who, by)) {
    if (conflict_log_limit_.may_write(a.name + " " + a.uuid, now_of(*this, *node_actors_)))
      log::warn("health_checks", "client agent rejected",
                {{"node", a.name}, {"id", a.uuid}, {"address", a.address}, {"reason", *why}});
    client_agents_.forget_refusal(who);
    return answer_client_agent(h.from, state::refusal{std::move(*why)});
  }
  if (a.proof.empty() && !a.source.empty() &&
      conflict_log_limit_.may_write(a.name + " without a secret", now_of(*this, *node_actors_)))
    log::warn("health_checks", "client agent without a secret: only its address identifies its node",
              {{"node", a.name}, {"id", a.uuid}, {"source", a.source}, {"advice", "install Belay 0.3.0 there"}});
  if (client_agents_of_ != view_.soft.term) // this leader has not begun yet
    return answer_client_agent(h.from, true);
  if (a.leaves) {
    client_agents_.leaves(who, now(), by);
    return answer_client_agent(h.from, true);
  }
  // The owner of that name in the catalog must be known first: it may be another live agent.
  if (listing_of_nodes_)
    return answer_client_agent(h.from, true);
  client_agents_.received(who, now(), by);
  if (client_agents_.shown_alive(who) || new_client_agents_.size() >= new_agents_max)
    return answer_client_agent(h.from, true);
  new_client_agents_.push_back({h.from, who, now() + new_agent_limit});
  tick_soon();
}

std::optional<std::string> health_checks::refusal_of(const agent::client_agents::identity& who,
                                                     const agent::client_agents::evidence& by) {
  for (const auto& m : view_.config.members) {
    if (state::folded(m.name) == state::folded(who.name))
      return "node name '" + who.name + "' is taken by the server with ID " + m.uuid + " at " + m.address;
    if (m.uuid == who.uuid)
      return "node ID " + who.uuid + " is that of the server '" + m.name + "'";
  }
  return client_agents_of_ == view_.soft.term ? client_agents_.refusal_of(who, now(), by) : std::nullopt;
}

/// A server that was removed may come back.
void health_checks::leave_servers_to_members() {
  client_agents_.are_servers(servers_of(view_.config));
}

void health_checks::answer_client_agent(const forward::origin& to, state::reply reply) {
  send(node_actors_->raft_peer, client_agent_answered{to, std::move(reply)});
}

void health_checks::answer_new_client_agents() {
  std::erase_if(new_client_agents_, [&](const new_client_agent& n) {
    if (const auto* why = client_agents_.refused(n.who)) {
      answer_client_agent(n.from, state::refusal{*why});
      return true;
    }
    if (view_.serving && now() < n.deadline && !client_agents_.shown_alive(n.who))
      return false;
    answer_client_agent(n.from, true);
    return true;
  });
}

void health_checks::look_at_client_agents() {
  const auto t = now();
  answer_new_client_agents();
  if (!view_.serving) {
    client_agents_of_ = term_id{};
    listing_of_nodes_.reset();
    client_agent_looks_.clear();
    return;
  }
  if (t < look_at_client_agents_)
    return;
  look_at_client_agents_ = t + look_interval;
  if (client_agents_of_ != view_.soft.term) {
    client_agents_of_ = view_.soft.term;
    client_agents_.begin(t);
    listing_again_ = false;
    listing_of_nodes_ = ask_catalog(state::catalog_nodes{});
  }
  std::erase_if(client_agent_looks_, [&](const auto& look) {
    const bool lost = look.second.deadline <= t;
    if (lost)
      client_agents_.cannot_look(look.second.name, t);
    return lost;
  });
  const auto busy = client_agent_looks_.size();
  for (auto& name : client_agents_.due(t, looks_at_once_max - std::min(looks_at_once_max, busy))) {
    const auto id = ask_catalog(state::catalog_node{name});
    client_agent_looks_.emplace(id.value, client_agent_look{std::move(name), t + rows_limit, std::nullopt});
  }
}

bool health_checks::on_client_agent_rows(const read_result& r) {
  const auto* found = r.found();
  if (listing_of_nodes_ && r.id == *listing_of_nodes_) {
    listing_of_nodes_.reset();
    const auto* nodes = found != nullptr ? std::get_if<state::nodes>(&found->data) : nullptr;
    if (nodes == nullptr) { // no leader now: it is repeated if this one still leads
      client_agents_of_ = term_id{};
      return true;
    }
    if (std::exchange(listing_again_, false))
      client_agents_.found_again(nodes->list, servers_of(view_.config));
    else
      client_agents_.found(nodes->list, servers_of(view_.config), now());
    return true;
  }
  const auto it = client_agent_looks_.find(r.id.value);
  if (it == client_agent_looks_.end())
    return false;
  auto look = std::move(it->second);
  client_agent_looks_.erase(it);
  const auto t = now();
  if (found == nullptr) {
    client_agents_.cannot_look(look.name, t);
    return true;
  }
  if (const auto* node = std::get_if<state::node_services>(&found->data)) {
    look.node = node->node;
    const auto id = ask_catalog(state::health_node{look.name});
    client_agent_looks_.emplace(id.value, std::move(look));
    return true;
  }
  const auto* checks = std::get_if<state::checks>(&found->data);
  const state::check_record* liveness = nullptr;
  if (checks != nullptr)
    for (const auto& c : checks->list)
      if (c->check_id == agent::liveness_check)
        liveness = c.get();
  const auto* row = look.node ? look.node->get() : nullptr;
  if (row != nullptr && state::folded(row->node) != state::folded(look.name))
    row = nullptr; // matched by a prefix of its ID only
  auto command = client_agents_.look(look.name, row, liveness, t, settings_.agent.registry.node.datacenter);
  if (!command)
    return true;
  const auto* there = std::get_if<state::catalog_register>(&*command);
  log::info("health_checks",
            there == nullptr ? "client agent left; node deregistered" : "health of client agent registered",
            {{"node", look.name},
             {"status", there == nullptr ? std::string("left") : there->checks.front().status},
             {"term", view_.soft.term.value}});
  send(node_actors_->raft_peer, propose_internal{view_.soft.term, make_payload(wire::encode_command(*command))});
  return true;
}

} // namespace belay::actors
