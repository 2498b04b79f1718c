#include "actors/gateway/requests/local_answers.hpp"

#include "protocol/agent/member_catalog.hpp"
#include "protocol/base/hex.hpp"
#include "protocol/base/host_port.hpp"
#include "protocol/go_compat/duration.hpp"
#include "protocol/go_compat/json_output.hpp"
#include "protocol/http/discovery/coordinate_json.hpp"
#include "protocol/http/operators/health_report.hpp"
#include "protocol/http/request_context.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <map>
#include <thread>

namespace belay::actors {

namespace {

// Limits for a node that is ready: as many entries behind as autopilot allows (MaxTrailingLogs),
// and a silence of the leader as long as several elections.
constexpr std::uint64_t ready_behind_max = 250;
constexpr int leader_silence_ms = 5000;

void append_texts(std::string& out, const std::map<std::string, std::string>& all) {
  out += '{';
  for (const auto& [name, value] : all)
    go_compat::append_json_member(out, name, value);
  out += '}';
}

std::map<std::string, std::string> tags_of_client_agent(const std::string& uuid, const local_facts& facts) {
  return {{"acls", facts.acl_enabled ? "1" : "0"},
          {"build", facts.version + ":" + facts.revision},
          {"dc", facts.datacenter},
          {"id", uuid},
          {"role", "node"},
          {"segment", ""},
          {"vsn", "2"},
          {"vsn_max", "3"},
          {"vsn_min", "2"}};
}

std::map<std::string, std::string> tags_of(const raft::member& m, bool replica, const local_facts& facts) {
  if (!facts.server)
    return tags_of_client_agent(m.uuid, facts);
  std::map<std::string, std::string> tags{
      {"acls", facts.acl_enabled ? "1" : "0"},
      {"build", facts.version + ":" + facts.revision},
      {"dc", facts.datacenter},
      {"ft_fs", "1"},
      {"id", m.uuid},
      {"port", std::to_string(split_host_port(m.address).number())},
      {"raft_vsn", "3"},
      {"role", "consul"},
      {"segment", ""},
      {"vsn", "2"},
      {"vsn_max", "3"},
      {"vsn_min", "2"},
  };
  if (facts.serf_wan_port != 0)
    tags["wan_join_port"] = std::to_string(facts.serf_wan_port);
  // The flags of other nodes are unknown, except that all voters are started alike.
  if (replica)
    tags["nonvoter"] = tags["read_replica"] = "1";
  else if (facts.bootstrap)
    tags["bootstrap"] = "1";
  else if (facts.bootstrap_expect > 0)
    tags["expect"] = std::to_string(facts.bootstrap_expect);
  return tags;
}

constexpr int alive_member = 1, leaving_member = 2, failed_member = 4; // serf's numbers

struct shown_member {
  std::string name;
  host_port where;
  std::map<std::string, std::string> tags;
  int status = alive_member;
};

void append_member(std::string& out, const shown_member& m) {
  out += '{';
  go_compat::append_json_member(out, "Name", m.name);
  go_compat::append_json_member(out, "Addr", m.where.host);
  go_compat::append_json_name(out, "Port");
  go_compat::append_number(out, m.where.number());
  go_compat::append_json_name(out, "Tags");
  append_texts(out, m.tags);
  go_compat::append_json_name(out, "Status");
  go_compat::append_number(out, m.status);
  out +=
      ",\"ProtocolMin\":1,\"ProtocolMax\":5,\"ProtocolCur\":2,\"DelegateMin\":2,\"DelegateMax\":5,\"DelegateCur\":4}";
}

void append_member(std::string& out, const peer_status& p, bool alive, const local_facts& facts, bool wan) {
  auto where = split_host_port(p.member.address);
  if (!facts.server) // a client agent knows only itself, and does not listen for peers
    where.port = "0";
  append_member(out, {wan ? p.member.name + "." + facts.datacenter : p.member.name, std::move(where),
                      tags_of(p.member, p.replica, facts), alive ? alive_member : failed_member});
}

/// Status of this node, even before it belongs to a cluster.
peer_status own_status(const status_result& now, const local_facts& facts) {
  for (const auto& p : now.peers)
    if (p.member.id == now.view.self || p.member.uuid == facts.node_uuid)
      return p;
  peer_status p;
  p.member = {now.view.self, facts.node_uuid, facts.node_name, join_host_port(facts.address, facts.server_port)};
  p.alive = true;
  p.replica = facts.read_replica;
  return p;
}

/// The leader knows best which members are alive, and writes it into the catalog (serfHealth).
/// So that all servers agree, the others use that while they receive from the leader.
bool is_alive(const peer_status& p, const status_result& now, const std::vector<state::service_instance>& servers) {
  const auto& soft = now.view.soft;
  const bool follows = soft.role == raft::role::follower && !soft.leader.is_zero() && now.ms_since_leader >= 0 &&
                       now.ms_since_leader <= leader_silence_ms;
  if (!follows || p.member.id == now.view.self)
    return p.alive;
  return p.member.id == soft.leader || agent::shown_alive(servers, p.member.uuid).value_or(p.alive);
}

std::string members_json(const status_result& now, const local_facts& facts, bool wan, const acl::authorizer* may,
                         const known_members& known) {
  std::string out = "[";
  const auto begin = [&](const std::string& name) {
    if (may != nullptr && !may->node_read(name))
      return false;
    if (out.size() > 1)
      out += ',';
    return true;
  };
  const auto list = [&](const peer_status& p) {
    if (begin(p.member.name))
      append_member(out, p, is_alive(p, now, known.servers), facts, wan);
  };
  bool self_listed = false;
  for (const auto& p : now.peers) {
    self_listed = self_listed || p.member.id == now.view.self;
    list(p);
  }
  if (!self_listed)
    list(own_status(now, facts));
  for (const auto& a : known.agents) // they do not listen
    if (begin(a.name))
      append_member(out, {a.name,
                          {a.address, "0"},
                          tags_of_client_agent(a.uuid, facts),
                          a.alive ? a.leaving ? leaving_member : alive_member : failed_member});
  return out += ']';
}

const char* state_name(raft::role r) {
  switch (r) {
  case raft::role::leader:
    return "Leader";
  case raft::role::follower:
    return "Follower";
  default:
    return "Candidate";
  }
}

/// The configuration as Go prints a list of raft.Server.
std::string configuration_text(const raft::configuration& c) {
  std::string out = "[";
  for (const auto& m : c.members) {
    if (out.size() > 1)
      out += ' ';
    out += std::string("{Suffrage:") + (c.is_voter(m.id) ? "Voter" : "Nonvoter") + " ID:" + m.uuid +
           " Address:" + with_brackets(m.address) + "}";
  }
  return out += ']';
}

std::map<std::string, std::string> raft_stats(const status_result& now) {
  const auto& soft = now.view.soft;
  const auto& config = now.view.config;
  const bool leads = soft.role == raft::role::leader;
  const auto voters = config.voters.size();
  const auto others = voters - (config.is_voter(now.view.self) && voters > 0 ? 1 : 0);
  const auto pending = now.commit > now.applied ? now.commit.value - now.applied.value : 0;
  std::string contact = "0";
  if (!leads)
    contact =
        now.ms_since_leader < 0 ? "never" : go_compat::format_duration(std::chrono::milliseconds(now.ms_since_leader));
  std::map<std::string, std::string> s{
      {"applied_index", to_string(now.applied)},
      {"commit_index", to_string(now.commit)},
      {"disk_full", now.disk_full ? "true" : "false"},
      {"first_log_index", to_string(now.first)},
      {"fsm_pending", std::to_string(pending)},
      {"joint", config.joint() ? "true" : "false"},
      {"last_contact", contact},
      {"last_log_index", to_string(now.last)},
      {"last_log_term", to_string(now.last_term)},
      {"last_snapshot_index", to_string(now.snapshot_index)},
      {"last_snapshot_term", to_string(now.snapshot_term)},
      {"leader_commit_index", to_string(std::max(now.commit, now.leader_commit))},
      {"latest_configuration", configuration_text(config)},
      {"latest_configuration_index", "0"},
      {"num_peers", std::to_string(others)},
      {"protocol_version", "3"},
      {"protocol_version_max", "3"},
      {"protocol_version_min", "0"},
      {"snapshot_version_max", "1"},
      {"snapshot_version_min", "0"},
      {"state", state_name(soft.role)},
      {"state_digest", to_hex(now.digest)},
      {"state_digest_at", to_string(now.digest_at)},
      {"term", to_string(soft.term)},
  };
  if (leads)
    for (const auto& p : now.peers)
      if (p.member.id != now.view.self)
        s["peer_" + p.member.name] = "match=" + to_string(p.progress.match) + " next=" + to_string(p.progress.next) +
                                     " inflight=" + std::to_string(p.progress.inflight);
  return s;
}

std::string self_json(const status_result& now, const local_facts& facts) {
  const bool leads = now.view.soft.role == raft::role::leader;
  const auto yes_no = [](bool v) { return v ? "true" : "false"; };
  std::string out = "{\"Config\":{";
  go_compat::append_json_member(out, "Datacenter", facts.datacenter);
  go_compat::append_json_member(out, "NodeName", facts.node_name);
  go_compat::append_json_member(out, "NodeID", facts.node_uuid);
  go_compat::append_json_member(out, "Revision", facts.revision);
  go_compat::append_json_name(out, "Server");
  go_compat::append_bool(out, facts.server);
  go_compat::append_json_member(out, "Version", facts.version);
  out += "},\"DebugConfig\":{";
  for (const auto& [name, value] : facts.effective_settings) {
    go_compat::append_json_name(out, name);
    out += value;
  }
  out += "},\"Coord\":";
  if (facts.coordinates_disabled)
    out += "null";
  else
    http::append_coordinate(out, now.coordinate);
  out += ",\"Member\":";
  append_member(out, own_status(now, facts), true, facts, false);

  out += ",\"Stats\":{\"agent\":";
  append_texts(out, {{"check_monitors", std::to_string(now.registered.monitors)},
                     {"check_ttls", std::to_string(now.registered.ttls)},
                     {"checks", std::to_string(now.registered.checks)},
                     {"services", std::to_string(now.registered.services)}});
  out += ",\"build\":";
  append_texts(out, {{"prerelease", ""}, {"revision", facts.revision}, {"version", facts.version}});
  out += ",\"consul\":";
  if (!facts.server)
    append_texts(out, {{"acl", facts.acl_enabled ? "enabled" : "disabled"},
                       {"known_servers", leads ? "1" : "0"},
                       {"server", "false"}});
  else
    append_texts(out, {{"acl", facts.acl_enabled ? "enabled" : "disabled"},
                       {"bootstrap", yes_no(facts.bootstrap)},
                       {"known_datacenters", "1"},
                       {"leader", yes_no(leads)},
                       {"leader_addr", leader_address(now.view)},
                       {"server", "true"}});
  if (facts.server) {
    out += ",\"raft\":";
    append_texts(out, raft_stats(now));
  }
  utsname system{};
  ::uname(&system);
  const auto cpus = std::to_string(std::max(1u, std::thread::hardware_concurrency()));
  out += ",\"runtime\":";
  append_texts(out, {{"arch", system.machine}, {"cpu_count", cpus}, {"max_procs", cpus}, {"os", "linux"}});
  const auto failed = std::count_if(now.peers.begin(), now.peers.end(), [](const peer_status& p) { return !p.alive; });
  const auto members = std::max<std::size_t>(1, now.peers.size());
  for (const char* pool : {"serf_lan", "serf_wan"}) {
    go_compat::append_json_name(out, pool);
    append_texts(out, {{"encrypted", "false"},
                       {"failed", std::to_string(failed)},
                       {"left", "0"},
                       {"members", std::to_string(members)}});
  }
  return out += "},\"Meta\":{\"consul-network-segment\":\"\"}}";
}

std::string raft_configuration_json(const cluster_view& view) {
  std::string out = "{\"Servers\":[";
  bool first = true;
  for (const auto& m : view.config.members) {
    out += first ? "{" : ",{";
    first = false;
    go_compat::append_json_member(out, "ID", m.uuid);
    go_compat::append_json_member(out, "Node", m.name);
    go_compat::append_json_member(out, "Address", with_brackets(m.address));
    go_compat::append_json_name(out, "Leader");
    go_compat::append_bool(out, m.id == view.soft.leader);
    go_compat::append_json_member(out, "ProtocolVersion", "3");
    go_compat::append_json_name(out, "Voter");
    go_compat::append_bool(out, view.config.is_voter(m.id));
    out += '}';
  }
  return out += "],\"Index\":0}"; // docs/contract/12: always 0 in this version
}

std::string json_of(const http::local_request& request, const status_result& now, const local_facts& facts,
                    const acl::authorizer* may, const known_members& known) {
  std::string out;
  switch (request.kind) {
  case http::local_kind::status_leader:
    go_compat::append_json_string(out, leader_address(now.view));
    return out;
  case http::local_kind::status_peers: {
    std::vector<std::string> addresses;
    for (const auto& m : now.view.config.members)
      addresses.push_back(with_brackets(m.address));
    go_compat::append_json_strings(out, addresses);
    return out;
  }
  case http::local_kind::catalog_datacenters:
    go_compat::append_json_strings(out, std::vector<std::string>{facts.datacenter});
    return out;
  case http::local_kind::agent_self:
    return self_json(now, facts);
  case http::local_kind::agent_members:
    return members_json(now, facts, request.wan, may, known);
  case http::local_kind::raft_configuration:
    return raft_configuration_json(now.view);
  case http::local_kind::coordinate_datacenters:
    return http::coordinates_of_datacenters(facts.datacenter, now.servers);
  case http::local_kind::coordinate_update: // answered without a body
  case http::local_kind::remove_peer:
  case http::local_kind::add_peer:
  case http::local_kind::agent_live:
  case http::local_kind::agent_ready:
  case http::local_kind::autopilot_health:
  case http::local_kind::agent_metrics:
  case http::local_kind::agent_reload:
  case http::local_kind::agent_monitor:
  case http::local_kind::agent_host:
  case http::local_kind::agent_leave:
  case http::local_kind::agent_join:
  case http::local_kind::force_leave:
  case http::local_kind::keyring:
  case http::local_kind::agent_token:
  case http::local_kind::agent_alive:
  case http::local_kind::translate_rules:
    break;
  }
  return "null";
}

} // namespace

std::string leader_address(const cluster_view& view) {
  const auto* leader = view.config.find(view.soft.leader);
  return view.soft.leader.is_zero() || leader == nullptr ? std::string() : with_brackets(leader->address);
}

http::response answer_local(const http::local_request& request, const status_result& now, const local_facts& facts,
                            const http::render_options& options, const acl::authorizer* may,
                            const known_members& known) {
  if (request.kind == http::local_kind::coordinate_update)
    return {};
  return http::json_response(json_of(request, now, facts, may, known), options);
}

http::response answer_health(const http::local_request& request, const status_result& now,
                             const http::render_options& options) {
  // This response has passed the HTTP thread and Raft's.
  if (request.kind == http::local_kind::agent_live)
    return http::json_response("{\"Live\":true}", options);
  const auto committed = std::max(now.commit, now.leader_commit);
  const auto behind = committed.value - std::min(now.applied, committed).value;
  const char* reason = nullptr;
  if (now.disk_full)
    reason = "disk full";
  else if (now.view.soft.leader.is_zero())
    reason = "no leader";
  else if (!now.view.config.contains(now.view.self))
    reason = "not a member of the cluster";
  else if (now.ms_since_leader < 0 || now.ms_since_leader > leader_silence_ms)
    reason = "the leader is silent";
  else if (behind > ready_behind_max)
    reason = "committed entries are not applied yet";
  std::string out =
      std::string("{\"Ready\":") + (reason == nullptr ? "true" : "false") + ",\"Behind\":" + std::to_string(behind);
  if (reason != nullptr)
    out += std::string(",\"Reason\":\"") + reason + "\"";
  if (now.checkpoint_unproven)
    out += ",\"Warning\":\"the newest checkpoint could not be read back; the previous one is kept, see the log\"";
  auto answer = http::json_response(out + "}", options);
  answer.status = reason == nullptr ? 200 : 503;
  return answer;
}

http::response answer_decided(const http::local_request& request, write_result& r,
                              const http::render_options& options) {
  if (r.outcome != wire::call_outcome::done)
    return http::error_response(500, std::move(r.text));
  if (auto* no = std::get_if<state::refusal>(&r.reply))
    return http::error_response(request.kind == http::local_kind::agent_alive ? 409 : 500, std::move(no->text));
  if (request.kind == http::local_kind::keyring) {
    auto* keys = std::get_if<std::string>(&r.reply);
    return keys == nullptr ? http::response{} : http::json_response(std::move(*keys), options);
  }
  if (request.kind != http::local_kind::autopilot_health)
    return {};
  auto* health = std::get_if<std::string>(&r.reply);
  if (health == nullptr)
    return http::error_response(500, "malformed response of the leader");
  const int status = http::is_healthy_report(*health) ? 200 : 429;
  auto answer = http::json_response(std::move(*health), options);
  answer.status = status;
  return answer;
}

http::response answer_metrics(const http::local_request& request, const metrics& m, std::string_view prefix,
                              bool old_names, std::int64_t now, const http::render_options& options) {
  if (request.history)
    return http::json_response(m.history_json(), options);
  if (!request.prometheus)
    return http::json_response(m.json(prefix, now, old_names), options);
  http::response answer;
  answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
  answer.body = m.prometheus(prefix, old_names);
  return answer;
}

} // namespace belay::actors
