#include "actors/node/config/keys.hpp"

#include "protocol/base/ascii_case.hpp"

#include <boost/json/array.hpp>

#include <algorithm>

namespace belay::actors {

namespace json = boost::json;

namespace {

using enum config_kind;
using enum config_effect;

// Consul 1.8's keys. Sections first, then their members; what is not listed is refused.
constexpr config_key keys[] = {
    {"server", boolean, effective},
    {"bootstrap", boolean, effective},
    {"bootstrap_expect", integer, effective},
    {"data_dir", text, effective},
    {"node_name", text, effective},
    {"node_id", text, effective},
    {"node_meta", text_map, effective},
    {"datacenter", text, effective},
    {"bind_addr", text, effective},
    {"advertise_addr", text, effective},
    {"client_addr", text, effective},
    {"start_join", list, effective},
    {"retry_join", list, effective},
    {"retry_interval", duration, effective},
    {"retry_max", integer, effective},
    {"log_level", text, effective},
    {"log_json", boolean, effective},
    {"log_file", text, effective},
    {"pid_file", text, effective},
    {"session_ttl_min", duration, effective},
    {"default_query_time", duration, effective},
    {"max_query_time", duration, effective},
    {"discovery_max_stale", duration, effective},
    {"raft_snapshot_threshold", integer, effective},
    {"raft_snapshot_interval", duration, effective},
    {"raft_trailing_logs", integer, effective},
    {"leave_on_terminate", boolean, effective},
    {"skip_leave_on_interrupt", boolean, effective},
    {"disable_http_unprintable_char_filter", boolean, effective},
    {"enable_script_checks", boolean, effective},
    {"ui", boolean, effective},

    {"addresses", section, effective},
    {"addresses.http", text, effective},
    {"addresses.https", text, none},
    {"addresses.dns", text, none},
    {"addresses.grpc", text, none},

    {"ports", section, effective},
    {"ports.http", integer, effective},
    {"ports.server", integer, effective},
    {"ports.serf_lan", integer, effective},
    {"ports.serf_wan", integer, effective},
    {"ports.https", integer, none},
    {"ports.dns", integer, none},
    {"ports.grpc", integer, none},
    {"ports.proxy_min_port", integer, none},
    {"ports.proxy_max_port", integer, none},
    {"ports.sidecar_min_port", integer, none},
    {"ports.sidecar_max_port", integer, none},
    {"ports.expose_min_port", integer, none},
    {"ports.expose_max_port", integer, none},

    {"limits", section, effective},
    {"limits.kv_max_value_size", integer, effective},
    {"limits.txn_max_req_len", integer, effective},
    {"limits.http_max_conns_per_client", integer, effective},
    {"limits.rpc_rate", integer, none},
    {"limits.rpc_max_burst", integer, none},
    {"limits.rpc_max_conns_per_client", integer, none},
    {"limits.rpc_handshake_timeout", duration, none},
    {"limits.https_handshake_timeout", duration, none},

    {"performance", section, effective},
    {"performance.raft_multiplier", integer, effective},
    {"performance.rpc_hold_timeout", duration, effective},
    {"performance.leave_drain_time", duration, effective},

    {"http_config", section, effective},
    {"http_config.response_headers", text_map, effective},
    {"http_config.block_endpoints", list, effective},
    {"http_config.allow_write_http_from", list, effective},
    {"http_config.use_cache", boolean, silent},

    {"telemetry", section, effective},
    {"telemetry.prometheus_retention_time", duration, effective},
    {"telemetry.disable_hostname", boolean, effective},
    {"telemetry.metrics_prefix", text, effective},
    {"telemetry.circonus_api_app", text, none},
    {"telemetry.circonus_api_token", text, none},
    {"telemetry.circonus_api_url", text, none},
    {"telemetry.circonus_broker_id", text, none},
    {"telemetry.circonus_broker_select_tag", text, none},
    {"telemetry.circonus_check_display_name", text, none},
    {"telemetry.circonus_check_force_metric_activation", text, none},
    {"telemetry.circonus_check_id", text, none},
    {"telemetry.circonus_check_instance_id", text, none},
    {"telemetry.circonus_check_search_tag", text, none},
    {"telemetry.circonus_check_tags", text, none},
    {"telemetry.circonus_submission_interval", text, none},
    {"telemetry.circonus_submission_url", text, none},
    {"telemetry.disable_compat_1.9", boolean, none},
    {"telemetry.dogstatsd_addr", text, none},
    {"telemetry.dogstatsd_tags", list, none},
    {"telemetry.filter_default", boolean, silent},
    {"telemetry.prefix_filter", list, none},
    {"telemetry.statsd_address", text, none},
    {"telemetry.statsite_address", text, none},

    // Locks on the door: enabling one of these is refused elsewhere (node_config_checks), the rest does nothing.
    {"acl", section, effective},
    {"acl.enabled", boolean, effective},
    {"acl.default_policy", text, none},
    {"acl.down_policy", text, none},
    {"acl.enable_key_list_policy", boolean, none},
    {"acl.enable_token_persistence", boolean, none},
    {"acl.enable_token_replication", boolean, none},
    {"acl.msp_disable_bootstrap", boolean, none},
    {"acl.policy_ttl", duration, none},
    {"acl.role_ttl", duration, none},
    {"acl.token_ttl", duration, none},
    {"acl.tokens", section, effective},
    {"acl.tokens.master", text, none},
    {"acl.tokens.initial_management", text, none},
    {"acl.tokens.default", text, none},
    {"acl.tokens.agent", text, none},
    {"acl.tokens.agent_master", text, none},
    {"acl.tokens.agent_recovery", text, none},
    {"acl.tokens.replication", text, none},
    {"acl.tokens.managed_service_provider", opaque, none},
    {"acl_datacenter", text, effective},
    {"acl_agent_master_token", text, none},
    {"acl_agent_token", text, none},
    {"acl_default_policy", text, none},
    {"acl_down_policy", text, none},
    {"acl_enable_key_list_policy", boolean, none},
    {"acl_enforce_version_8", boolean, silent},
    {"acl_master_token", text, none},
    {"acl_replication_token", text, none},
    {"acl_token", text, none},
    {"acl_ttl", duration, none},
    {"enable_acl_replication", boolean, none},
    {"encrypt", text, effective},
    {"encrypt_verify_incoming", boolean, silent},
    {"encrypt_verify_outgoing", boolean, silent},
    {"verify_incoming", boolean, effective},
    {"verify_incoming_https", boolean, effective},
    {"verify_incoming_rpc", boolean, effective},
    {"verify_outgoing", boolean, effective},
    {"verify_server_hostname", boolean, effective},
    {"cert_file", text, none},
    {"key_file", text, none},
    {"ca_file", text, none},
    {"ca_path", text, none},
    {"server_name", text, none},
    {"tls_cipher_suites", text, none},
    {"tls_min_version", text, silent},
    {"tls_prefer_server_cipher_suites", boolean, silent},
    {"auto_encrypt", section, effective},
    {"auto_encrypt.tls", boolean, effective},
    {"auto_encrypt.allow_tls", boolean, effective},
    {"auto_encrypt.dns_san", list, none},
    {"auto_encrypt.ip_san", list, none},
    {"auto_config", opaque, none},

    {"autopilot", section, effective},
    {"autopilot.cleanup_dead_servers", boolean, none},
    {"autopilot.last_contact_threshold", duration, none},
    {"autopilot.max_trailing_logs", integer, none},
    {"autopilot.min_quorum", integer, none},
    {"autopilot.server_stabilization_time", duration, none},
    {"autopilot.disable_upgrade_migration", boolean, silent},
    {"autopilot.redundancy_zone_tag", text, none},
    {"autopilot.upgrade_version_tag", text, none},

    {"advertise_addr_ipv4", text, none},
    {"advertise_addr_ipv6", text, none},
    {"advertise_addr_wan", text, none},
    {"advertise_addr_wan_ipv4", text, none},
    {"advertise_addr_wan_ipv6", text, none},
    {"alt_domain", text, none},
    {"audit", opaque, none},
    {"cache", opaque, none},
    {"check", definitions, effective},
    {"checks", definitions, effective},
    {"check_output_max_size", integer, effective},
    {"check_update_interval", duration, effective},
    {"config_entries", opaque, none},
    {"connect", opaque, none},
    {"disable_anonymous_signature", boolean, silent},
    {"disable_coordinates", boolean, silent},
    {"disable_host_node_id", boolean, silent},
    {"disable_keyring_file", boolean, silent},
    {"disable_remote_exec", boolean, silent},
    {"disable_update_check", boolean, silent},
    {"discard_check_output", boolean, none},
    {"dns_config", opaque, none},
    {"domain", text, none},
    {"enable_agent_tls_for_checks", boolean, none},
    {"enable_central_service_config", boolean, silent},
    {"enable_debug", boolean, none},
    {"enable_local_script_checks", boolean, effective},
    {"enable_syslog", boolean, none},
    {"gossip_lan", opaque, none},
    {"gossip_wan", opaque, none},
    {"license_path", text, none},
    {"log_rotate_bytes", integer, none},
    {"log_rotate_duration", duration, none},
    {"log_rotate_max_files", integer, none},
    {"non_voting_server", boolean, none},
    {"primary_datacenter", text, none},
    {"primary_gateways", list, none},
    {"primary_gateways_interval", duration, none},
    {"protocol", integer, silent},
    {"raft_protocol", integer, silent},
    {"reconnect_timeout", duration, none},
    {"reconnect_timeout_wan", duration, none},
    {"recursors", list, none},
    {"rejoin_after_leave", boolean, silent},
    {"retry_interval_wan", duration, none},
    {"retry_join_wan", list, none},
    {"retry_max_wan", integer, none},
    {"segment", text, none},
    {"segments", opaque, none},
    {"serf_lan", text, none},
    {"serf_lan_allowed_cidrs", list, none},
    {"serf_wan", text, none},
    {"serf_wan_allowed_cidrs", list, none},
    {"service", definitions, effective},
    {"services", definitions, effective},
    {"start_join_wan", list, none},
    {"syslog_facility", text, none},
    {"translate_wan_addrs", boolean, none},
    {"ui_content_path", text, none},
    {"ui_dir", text, none},
    {"unix_sockets", opaque, none},
    {"watches", opaque, none},
};

std::string_view type_wanted(config_kind kind) {
  switch (kind) {
  case boolean:
    return "bool";
  case integer:
    return "int";
  case list:
    return "[]string";
  case text_map:
    return "map[string]string";
  default:
    return "string";
  }
}

std::string_view type_found(const json::value& v) {
  switch (v.kind()) {
  case json::kind::string:
    return "string";
  case json::kind::bool_:
    return "bool";
  case json::kind::array:
    return "[]interface {}";
  case json::kind::object:
    return "map[string]interface {}";
  default:
    return "float64";
  }
}

bool all_strings(const json::array& a) {
  return std::all_of(a.begin(), a.end(), [](const json::value& v) { return v.is_string(); });
}

bool fits(const json::value& v, config_kind kind) {
  switch (kind) {
  case boolean:
    return v.is_bool();
  case integer:
    return v.is_number();
  case text:
  case config_kind::duration:
    return v.is_string();
  case list:
    return v.is_array() && all_strings(v.get_array());
  case text_map:
    return v.is_object() && std::all_of(v.get_object().begin(), v.get_object().end(),
                                        [](const auto& member) { return member.value().is_string(); });
  case section:
    return v.is_object();
  case opaque:
    return true;
  case definitions:
    return v.is_object() || v.is_array();
  }
  return false;
}

struct complaints {
  std::vector<std::string> unknown;
  std::vector<std::string> types;
};

json::object checked(const json::object& in, const std::string& prefix, complaints& wrong) {
  json::object out;
  for (const auto& member : in) {
    auto name = lower_case(member.key());
    auto path = prefix + name;
    const auto* key = find_config_key(path);
    if (!key) {
      wrong.unknown.push_back(prefix + std::string(member.key()));
      continue;
    }
    const auto& v = member.value();
    if (v.is_null())
      continue; // as if it were not there
    // A list may hold one object instead of the object itself: HCL turned to JSON looks so.
    const bool wrapped = (key->kind == section || key->kind == text_map) && v.is_array() && v.get_array().size() == 1;
    const auto& inner = wrapped ? v.get_array().front() : v;
    if (!fits(inner, key->kind)) {
      if (key->kind == section)
        wrong.types.push_back("'" + path + "' expected a map, got '" +
                              (inner.is_string()  ? "string"
                               : inner.is_array() ? "slice"
                               : inner.is_bool()  ? "bool"
                                                  : "float64") +
                              "'");
      else
        wrong.types.push_back("'" + path + "' expected type '" + std::string(type_wanted(key->kind)) +
                              "', got unconvertible type '" + std::string(type_found(inner)) + "'");
      continue;
    }
    if (key->kind == section)
      out[name] = checked(inner.get_object(), path + ".", wrong);
    else
      out[name] = inner;
  }
  return out;
}

/// Whether a setting asks for anything: turned off or left empty it agrees with a server that lacks the feature.
bool asks_for_something(const json::value& v) {
  switch (v.kind()) {
  case json::kind::bool_:
    return v.get_bool();
  case json::kind::string:
    return !v.get_string().empty();
  case json::kind::array:
    return !v.get_array().empty();
  case json::kind::object:
    return !v.get_object().empty();
  case json::kind::int64:
    return v.get_int64() > 0;
  case json::kind::null:
    return false;
  default:
    return true;
  }
}

void collect(const json::object& in, const std::string& prefix, std::vector<std::string>& out) {
  for (const auto& member : in) {
    auto path = prefix + std::string(member.key());
    const auto* key = find_config_key(path);
    if (key && key->kind == section)
      collect(member.value().get_object(), path + ".", out);
    else if (key && key->effect == none && asks_for_something(member.value()))
      out.push_back(path);
  }
}

void merge_member(json::object& into, const std::string& prefix, std::string_view name, const json::value& later) {
  const auto* key = find_config_key(prefix + std::string(name));
  auto* now = into.if_contains(name);
  if (!now || !key) {
    into[name] = later;
  } else if (key->kind == section) {
    for (const auto& member : later.get_object())
      merge_member(now->get_object(), prefix + std::string(name) + ".", member.key(), member.value());
  } else if (key->kind == text_map) {
    for (const auto& member : later.get_object())
      now->get_object()[member.key()] = member.value();
  } else if (key->kind == list) {
    for (const auto& v : later.get_array())
      now->get_array().push_back(v);
  } else if (key->kind == definitions) {
    json::array all;
    for (const auto* source : {static_cast<const json::value*>(now), &later}) {
      if (const auto* some = source->if_array())
        all.insert(all.end(), some->begin(), some->end());
      else
        all.push_back(*source);
    }
    *now = std::move(all);
  } else {
    *now = later;
  }
}

} // namespace

const config_key* find_config_key(std::string_view path) {
  for (const auto& k : keys)
    if (k.path == path)
      return &k;
  return nullptr;
}

std::string check_config_source(json::object& source) {
  complaints wrong;
  auto clean = checked(source, "", wrong);
  source = std::move(clean);
  if (!wrong.types.empty()) {
    auto text = std::to_string(wrong.types.size()) + " error(s) decoding:\n\n";
    for (const auto& t : wrong.types)
      text += (&t == &wrong.types.front() ? "* " : "\n* ") + t;
    return text;
  }
  if (!wrong.unknown.empty()) {
    auto n = wrong.unknown.size();
    auto text = std::to_string(n) + (n == 1 ? " error occurred:" : " errors occurred:");
    for (const auto& name : wrong.unknown)
      text += "\n\t* invalid config key " + name;
    return text + "\n\n";
  }
  return {};
}

void merge_config(json::object& into, const json::object& later) {
  for (const auto& member : later)
    merge_member(into, "", member.key(), member.value());
}

std::vector<std::string> keys_without_effect(const json::object& config) {
  std::vector<std::string> out;
  collect(config, "", out);
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace belay::actors
