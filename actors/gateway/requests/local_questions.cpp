#include "actors/gateway/requests/local_questions.hpp"

#include "actors/relay/node_proof.hpp"
#include "protocol/agent/member_catalog.hpp"
#include "protocol/forward/requests.hpp"
#include "protocol/wire/operator_codec.hpp"

#include <set>
#include <string>
#include <utility>

namespace belay::actors {

namespace {

/// Whether it waits for a leader, up to the hold time.
bool needs_leader(const http::local_request& r) {
  return r.kind == http::local_kind::raft_configuration && !r.stale;
}

bool asks_health(const http::local_request& r) {
  return r.kind == http::local_kind::agent_live || r.kind == http::local_kind::agent_ready;
}

// Kubernetes probes wait one second by default; no probe should wait longer than its retry.
constexpr std::chrono::seconds health_limit{1};
constexpr auto not_moving = "Raft does not respond on this node";

} // namespace

void local_questions::begin(exchange& e, const http::local_request& r, monotonic_time now) {
  switch (r.kind) {
  case http::local_kind::remove_peer: {
    const auto id = pending_.add(e, times_.due(now));
    return out_.post(
        propose_write{id, make_payload(wire::encode_operator_call(r.removed)), wire::call_kind::remove_member});
  }
  case http::local_kind::agent_alive: { // like the next one
    const auto id = pending_.add(e, times_.due(now));
    auto received = r.received;
    received.proof = proof_of(received.proof); // the secret itself stays here
    return out_.post(
        propose_write{id, make_payload(wire::encode_operator_call(received)), wire::call_kind::remove_member});
  }
  case http::local_kind::add_peer: { // by a call name that servers of earlier versions know, and reject
    const auto id = pending_.add(e, times_.due(now));
    return out_.post(
        propose_write{id, make_payload(wire::encode_operator_call(r.added)), wire::call_kind::remove_member});
  }
  case http::local_kind::force_leave:
    return look_for_agents(e, r, now);
  case http::local_kind::agent_members:
    if (facts_.server && !r.wan && knew_leader_)
      return look_for_agents(e, r, now);
    break;
  case http::local_kind::autopilot_health: { // first the settings, then the leader
    read_query q{pending_.add(e, times_.due(now)), {}, {}};
    q.request.query = state::autopilot_get{};
    return out_.post(std::move(q));
  }
  case http::local_kind::catalog_datacenters:
    e.answer = answer_local(r, {}, facts_, e.options);
    return;
  case http::local_kind::status_leader:
  case http::local_kind::status_peers:
    if (view_known_) { // raft_peer publishes every change
      status_result known;
      known.view = view_;
      e.answer = answer_local(r, known, facts_, e.options);
      return;
    }
    break;
  default:
    break;
  }
  if (asks_health(r)) {
    e.deadline = now + health_limit;
    e.give_up = not_moving;
    return out_.post(status_request{pending_.add(e), r});
  }
  const bool repeated = e.deadline != monotonic_time{};
  if (!repeated && needs_leader(r)) {
    e.deadline = now + times_.queue_timeout;
    e.give_up = forward::no_leader;
  } else if (!repeated) {
    e.deadline = times_.due(now);
  }
  out_.post(status_request{pending_.add(e), r});
}

// Client agents are known from the catalog.

void local_questions::look_for_agents(exchange& e, const http::local_request& r, monotonic_time now) {
  e.agents = std::make_unique<client_agent_search>();
  e.deadline = times_.due(now);
  const bool members = r.kind == http::local_kind::agent_members;
  ask_rows(e, state::catalog_nodes{}, members ? http::consistency::stale : http::consistency::normal);
}

void local_questions::ask_rows(exchange& e, state::query q, http::consistency mode) {
  read_query ask{pending_.add(e), {}, {}};
  ask.request.query = std::move(q);
  ask.request.mode = mode;
  out_.post(std::move(ask));
}

/// Servers that are not members, or of another cluster (after a restore), are not client agents.
known_members local_questions::members_of(const exchange& e, const cluster_view& v) {
  if (e.agents == nullptr)
    return {};
  std::set<std::string> servers;
  for (const auto& m : v.config.members) {
    servers.insert(m.uuid);
    servers.insert(m.name);
  }
  for (const auto& i : e.agents->servers)
    if (agent::is_server(i))
      servers.insert(i.node->node);
  return {agent::client_agents_among(e.agents->nodes, e.agents->critical, servers), e.agents->servers};
}

void local_questions::agents_read(exchange& e, const http::local_request& request, const read_result& r) {
  const bool members = request.kind == http::local_kind::agent_members;
  const auto mode = members ? http::consistency::stale : http::consistency::normal;
  const auto* found = r.found();
  const auto* nodes = found != nullptr ? std::get_if<state::nodes>(&found->data) : nullptr;
  const auto* servers = found != nullptr ? std::get_if<state::service_instances>(&found->data) : nullptr;
  const auto* checks = found != nullptr ? std::get_if<state::checks>(&found->data) : nullptr;
  if (nodes != nullptr) {
    e.agents->nodes = nodes->list;
    state::health_service of_servers;
    of_servers.service = agent::server_service;
    return ask_rows(e, std::move(of_servers), mode);
  }
  if (servers != nullptr) {
    e.agents->servers = servers->list;
    return ask_rows(e, state::health_state{"critical", {}}, mode);
  }
  if (checks != nullptr)
    e.agents->critical = checks->list;
  if (checks == nullptr)
    e.agents->nodes.clear(); // the servers are known
  if (checks == nullptr && !members) {
    const auto* why = std::get_if<failure>(&r.answer);
    e.answer = http::error_response(500, why != nullptr ? why->text : "the catalog could not be read");
    return;
  }
  if (members)
    return out_.post(status_request{pending_.add(e), request});
  force_out(e, request.forced);
}

/// Removes a client agent from the catalog; the leader handles servers.
void local_questions::force_out(exchange& e, const forward::force_leave& forced) {
  for (const auto& a : members_of(e, view_).agents) {
    if (a.name != forced.name)
      continue;
    if (a.alive) {
      for (const auto& n : e.agents->nodes)
        if (n->node == a.name)
          return out_.post(check_write{pending_.add(e), agent::requested_to_leave(*n)});
    }
    return out_.post(check_write{pending_.add(e), state::catalog_deregister{a.name, {}, {}}});
  }
  out_.post(
      propose_write{pending_.add(e), make_payload(wire::encode_operator_call(forced)), wire::call_kind::remove_member});
}

void local_questions::rows_read(exchange& e, const read_result& r) {
  const auto& request = std::get<http::local_request>(e.what);
  if (e.agents != nullptr)
    agents_read(e, request, r);
  else
    settings_read(e, r);
}

void local_questions::settings_read(exchange& e, const read_result& r) {
  const auto* found = r.found();
  const auto* settings = found == nullptr ? nullptr : std::get_if<state::autopilot_ptr>(&found->data);
  if (settings == nullptr) {
    e.answer = http::error_response(500, std::get<failure>(r.answer).text);
    return;
  }
  const forward::describe_health requested{(*settings)->last_contact_threshold_ns, (*settings)->max_trailing_logs,
                                           facts_.version};
  const auto id = pending_.add(e);
  out_.post(propose_write{id, make_payload(wire::encode_operator_call(requested)), wire::call_kind::describe_health});
}

void local_questions::status_sent(const status_result& s) {
  auto* e = pending_.settle(s.id);
  if (e == nullptr)
    return;
  const auto& request = std::get<http::local_request>(e->what);
  if (asks_health(request))
    e->answer = answer_health(request, s, e->options);
  else if (needs_leader(request) && leader_address(s.view).empty() && e->input_ended)
    e->answer = http::error_response(500, forward::no_leader);
  else if (needs_leader(request) && leader_address(s.view).empty())
    e->ask_again = true;
  else
    e->answer = answer_local(request, s, facts_, e->options, e->access.may.get(), members_of(*e, s.view));
}

void local_questions::decided(exchange& e, write_result& r) const {
  e.answer = answer_decided(std::get<http::local_request>(e.what), r, e.options);
}

void local_questions::view_changed(const cluster_view& v) {
  view_ = v;
  view_known_ = true;
  knew_leader_ = knew_leader_ || has_leader();
}

} // namespace belay::actors
