#include "actors/node/node_settings.hpp"

#include "actors/node/disk/server_state.hpp"
#include "console/embedded.hpp"
#include "protocol/base/host_port.hpp"
#include "storage/file_system.hpp"

#include <chrono>

namespace belay::actors {

namespace {

/// What performance.raft_multiplier scales: docs/reference/configuration.md. Not Consul's 1 s x n, which
/// was made for disks and networks of 2014, and would mean 10 s without writes.
raft::limits limits_for(int raft_multiplier) {
  raft::limits l;
  l.election_ticks = 7 + 3 * raft_multiplier;
  return l;
}

forward::shedding_rules shedding_of(const node_config& config) {
  return {config.overload_delay, config.overload_requests};
}

/// As Consul names them in DebugConfig. Secrets are shown as "hidden".
std::vector<std::pair<std::string, std::string>> shown_settings_of(const acl_config& acl) {
  const auto hidden = [](const std::string& secret) { return secret.empty() ? "\"\"" : "\"hidden\""; };
  return {{"ACLAgentMasterToken", hidden(acl.agent_master)},
          {"ACLAgentToken", hidden(acl.agent)},
          {"ACLDefaultPolicy", acl.allowed_by_default ? "\"allow\"" : "\"deny\""},
          {"ACLEnableKeyListPolicy", acl.lists_need_permission ? "true" : "false"},
          {"ACLEnableTokenPersistence", acl.keeps_tokens ? "true" : "false"},
          {"ACLMasterToken", hidden(acl.master)},
          {"ACLReplicationToken", hidden(acl.replication)},
          {"ACLToken", hidden(acl.of_requests)},
          {"ACLsEnabled", acl.enabled ? "true" : "false"}};
}

} // namespace

std::int64_t wall_ns() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

cluster_time wall_clock() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return cluster_time{static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(since).count())};
}

std::string with_port(const std::string& address) {
  const auto peer = split_optional_port(address);
  return join_host_port(peer.host, peer.port.value_or("8300"));
}

fsm_settings machine_settings_of(const node_config& config) {
  constexpr std::chrono::seconds first_node_wait{2}; // its agent needs milliseconds
  constexpr std::chrono::seconds mended_wait{4};     // the same; and a second where client agents have changed names

  fsm_settings m;
  m.checkpoints.entries = config.raft_snapshot_threshold;
  m.checkpoints.interval = config.raft_snapshot_interval;
  m.acl_enabled = config.acl.enabled;
  m.master_token = config.acl.master;
  m.uuid = random_uuid;
  m.autopilot = config.autopilot;
  m.first_node_wait = first_node_wait;
  m.mended_wait = mended_wait;
  m.changes_bytes_max = config.kv_changes_bytes;
  return m;
}

raft::member member_of(const node_config& config, const identity& who) {
  // The text has no brackets around IPv6 addresses: clusters' configurations store it.
  return {who.id, who.uuid, config.node_name, config.advertise_addr + ":" + std::to_string(config.server_port)};
}

raft_peer_settings peer_settings_of(const node_config& config, const identity& who) {
  raft_peer_settings p;
  p.limits = limits_for(config.raft_multiplier);
  p.queue_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(config.rpc_hold_timeout);
  p.trailing_entries = config.raft_trailing_logs;
  p.shedding = shedding_of(config);
  p.seed = random_u64();
  p.replica = config.read_replica;
  p.coordinates = !config.disable_coordinates;
  p.autopilot = config.autopilot.value_or(state::autopilot_settings());
  for (const auto& address : config.joins)
    p.join.push_back(with_port(address));
  keep_membership_in(p, config.data_dir, who, storage::posix_file_system());
  return p;
}

health_checks_settings agent_settings_of(const node_config& config) {
  health_checks_settings h;
  h.agent.server = config.server;
  h.agent.scripts_from_api = config.enable_script_checks;
  h.agent.scripts_from_files = config.enable_script_checks || config.enable_local_script_checks;
  h.agent.registry.output_bytes_max = config.check_output_max_size;
  h.agent.registry.update_interval = config.check_update_interval;
  return h;
}

std::shared_ptr<const std::vector<std::string>> networks_of_http_checks(const node_config& config) {
  return config.check_http_allow ? std::make_shared<const std::vector<std::string>>(*config.check_http_allow) : nullptr;
}

gateway_settings gateway_settings_of(const node_config& config, const identity& who) {
  gateway_settings g;
  g.listen = config.http_listeners;
  g.listen.insert(g.listen.end(), config.https_listeners.begin(), config.https_listeners.end());
  g.unix_sockets = config.unix_sockets;
  g.limits.handshake = std::chrono::duration_cast<std::chrono::milliseconds>(config.https_handshake_timeout);
  g.bytes_in_flight_max = config.http_max_bytes_in_flight;
  g.queue_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(config.rpc_hold_timeout);
  g.shedding = shedding_of(config);
  if (config.audit)
    g.audit = audit_rules{config.audit->enforced};
  g.metrics_prefix = config.metrics_prefix;
  g.old_metric_names = config.old_metric_names;
  g.disk = config.data_dir;
  g.uuid = random_uuid;
  g.wall_clock = [] { return std::chrono::system_clock::now(); };

  auto& r = g.routes;
  r.datacenter = config.datacenter;
  r.node_name = config.node_name;
  r.kv_max_value_size = config.kv_max_value_size;
  r.txn_max_req_len = config.txn_max_req_len;
  r.default_query_time = config.default_query_time;
  r.max_query_time = config.max_query_time;
  r.session_ttl_min = config.session_ttl_min;
  r.discovery_max_stale = config.discovery_max_stale;
  r.consistent_by_default = config.consistent_by_default;
  r.pretty_always = config.dev;
  r.unprintable_filter = !config.disable_http_unprintable_char_filter;
  r.block_endpoints = config.block_endpoints;
  r.response_headers.assign(config.response_headers.begin(), config.response_headers.end());
  r.allow_write_http_from = config.allow_write_http_from;
  r.allowed_hosts = config.allowed_hosts;
  r.use_cache = config.use_cache;
  r.has_wan_pool = config.serf_wan_port != 0;
  if (config.ui)
    r.console = &console::embedded();
  r.console_path = config.ui_content_path;
  r.prometheus = config.prometheus_retention_time.count() > 0;
  r.acl_enabled = config.acl.enabled;
  r.coordinates_disabled = config.disable_coordinates;
  r.acl_allowed_by_default = config.acl.allowed_by_default;
  r.acl_lists_need_permission = config.acl.lists_need_permission;

  auto& f = g.facts;
  f.node_name = config.node_name;
  f.node_uuid = who.uuid;
  f.datacenter = config.datacenter;
  f.revision = BELAY_VERSION;
  f.address = config.advertise_addr;
  f.server_port = config.server_port;
  f.serf_wan_port = config.serf_wan_port;
  f.bootstrap = config.bootstrap;
  f.bootstrap_expect = config.bootstrap_expect;
  f.read_replica = config.read_replica;
  f.acl_enabled = config.acl.enabled;
  f.coordinates_disabled = config.disable_coordinates;
  f.effective_settings = shown_settings_of(config.acl);
  return g;
}

} // namespace belay::actors
