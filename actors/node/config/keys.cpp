#include "actors/node/config/keys.hpp"

#include "actors/node/config/json.hpp"
#include "protocol/base/ascii_case.hpp"

#include <boost/json/array.hpp>

#include <algorithm>

namespace belay::actors {

namespace json = boost::json;

namespace {

constexpr std::string_view any_name = "*";

using enum config_kind;
using enum config_effect;

// Consul 1.8's keys and Belay's own: sections first, then their members; others are rejected. The
// texts about them are in key_texts.hpp.
constexpr config_key keys[] = {
    {"server", boolean, effective},
    {"bootstrap", boolean, effective},
    {"bootstrap_expect", integer, effective},
    {"allow_unauthenticated_servers", boolean, effective},
    {"data_dir", text, effective},
    {"node_name", text, effective},
    {"node_id", text, effective},
    {"node_meta", text_map, effective, true},
    {"datacenter", text, effective},
    {"bind_addr", text, effective},
    {"advertise_addr", text, effective},
    {"client_addr", text, effective},
    {"start_join", list, effective},
    {"retry_join", list, effective},
    {"retry_interval", duration, none},
    {"retry_max", integer, none},
    {"log_level", text, effective, true},
    {"log_json", boolean, effective, true},
    {"log_file", text, effective, true},
    {"pid_file", text, effective},
    {"session_ttl_min", duration, effective},
    {"default_query_time", duration, effective},
    {"max_query_time", duration, effective},
    {"discovery_max_stale", duration, effective},
    {"default_consistency", text, effective},
    {"raft_snapshot_threshold", integer, effective},
    {"raft_snapshot_interval", duration, effective},
    {"raft_trailing_logs", integer, effective},
    {"raft_older_checkpoint_age", duration, effective},
    {"raft_older_checkpoint_log_bytes", integer, effective},
    {"leave_on_terminate", boolean, effective},
    {"skip_leave_on_interrupt", boolean, effective},
    {"disable_http_unprintable_char_filter", boolean, effective},
    {"enable_script_checks", boolean, effective},
    {"ui", boolean, effective},
    {"ui_content_path", text, effective},

    {"addresses", section, effective},
    {"addresses.http", text, effective},
    {"addresses.https", text, effective},
    {"addresses.dns", text, none},
    {"addresses.grpc", text, none},

    {"ports", section, effective},
    {"ports.http", integer, effective},
    {"ports.server", integer, effective},
    {"ports.serf_lan", integer, silent},
    {"ports.serf_wan", integer, effective},
    {"ports.https", integer, effective},
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
    {"limits.http_max_conns_per_client", integer, effective, true},
    {"limits.http_max_bytes_in_flight", integer, effective},
    {"limits.kv_changes_bytes", integer, effective},
    {"limits.overload_delay", duration, effective},
    {"limits.overload_requests", integer, effective},
    {"limits.rpc_rate", integer, none},
    {"limits.rpc_max_burst", integer, none},
    {"limits.rpc_max_conns_per_client", integer, effective, true},
    {"limits.rpc_handshake_timeout", duration, effective},
    {"limits.https_handshake_timeout", duration, effective},

    {"performance", section, effective},
    {"performance.raft_multiplier", integer, effective},
    {"performance.rpc_hold_timeout", duration, effective},
    {"performance.leave_drain_time", duration, none},

    {"http_config", section, effective},
    {"http_config.response_headers", text_map, effective},
    {"http_config.block_endpoints", list, effective},
    {"http_config.allow_write_http_from", list, effective},
    {"http_config.allowed_hosts", list, effective},
    {"http_config.use_cache", boolean, effective},
    {"http_config.threads", integer, effective},

    {"telemetry", section, effective},
    {"telemetry.prometheus_retention_time", duration, effective},
    {"telemetry.disable_hostname", boolean, as_if_true},
    {"telemetry.metrics_prefix", text, effective},
    {"telemetry.old_names", boolean, effective},
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

    // Protection: enabling it is rejected (refused_protection in checks.hpp), the rest is ignored.
    {"acl", section, effective},
    {"acl.enabled", boolean, effective},
    {"acl.default_policy", text, effective},
    {"acl.down_policy", text, none},
    {"acl.enable_key_list_policy", boolean, effective},
    {"acl.enable_token_persistence", boolean, effective},
    {"acl.disabled_ttl", text, none},
    {"acl.enable_token_replication", boolean, none},
    {"acl.msp_disable_bootstrap", boolean, none},
    {"acl.policy_ttl", duration, none},
    {"acl.role_ttl", duration, none},
    {"acl.token_ttl", duration, none},
    {"acl.tokens", section, effective},
    {"acl.tokens.master", text, effective},
    {"acl.tokens.initial_management", text, effective},
    {"acl.tokens.default", text, effective, true},
    {"acl.tokens.agent", text, effective, true},
    {"acl.tokens.agent_master", text, effective, true},
    {"acl.tokens.agent_recovery", text, effective, true},
    {"acl.tokens.replication", text, none},
    {"acl.tokens.managed_service_provider", opaque, none},
    {"acl_datacenter", text, effective},
    {"acl_agent_master_token", text, effective, true},
    {"acl_agent_token", text, effective, true},
    {"acl_default_policy", text, effective},
    {"acl_down_policy", text, none},
    {"acl_enable_key_list_policy", boolean, effective},
    {"acl_enforce_version_8", boolean, silent},
    {"acl_master_token", text, effective},
    {"acl_replication_token", text, none},
    {"acl_token", text, effective, true},
    {"acl_ttl", duration, none},
    {"enable_acl_replication", boolean, none},
    {"encrypt", text, effective, true},
    {"encrypt_verify_incoming", boolean, effective, true},
    {"encrypt_verify_outgoing", boolean, effective, true},
    {"verify_incoming", boolean, effective, true},
    {"verify_incoming_https", boolean, effective, true},
    {"verify_incoming_rpc", boolean, effective, true},
    {"verify_outgoing", boolean, effective, true},
    {"verify_server_hostname", boolean, effective, true},
    {"cert_file", text, effective, true},
    {"key_file", text, effective, true},
    {"ca_file", text, effective, true},
    {"ca_path", text, effective, true},
    {"server_name", text, none},
    {"tls_cipher_suites", text, effective, true},
    {"tls_min_version", text, effective, true},
    {"tls_prefer_server_cipher_suites", boolean, effective, true},
    {"auto_encrypt", section, effective},
    {"auto_encrypt.tls", boolean, refused},
    {"auto_encrypt.allow_tls", boolean, refused},
    {"auto_encrypt.dns_san", list, none},
    {"auto_encrypt.ip_san", list, none},
    {"auto_config", section, effective},
    {"auto_config.enabled", boolean, refused},
    {"auto_config.authorization", opaque, none},
    {"auto_config.dns_sans", list, none},
    {"auto_config.intro_token", text, none},
    {"auto_config.intro_token_file", text, none},
    {"auto_config.ip_sans", list, none},
    {"auto_config.server_addresses", list, none},

    {"autopilot", section, effective},
    {"autopilot.cleanup_dead_servers", boolean, effective},
    {"autopilot.last_contact_threshold", duration, effective},
    {"autopilot.max_trailing_logs", integer, effective},
    {"autopilot.min_quorum", integer, effective},
    {"autopilot.server_stabilization_time", duration, effective},
    {"autopilot.disable_upgrade_migration", boolean, silent},
    {"autopilot.redundancy_zone_tag", text, none},
    {"autopilot.upgrade_version_tag", text, none},

    {"acl_disabled_ttl", text, none},
    {"advertise_addr_ipv4", text, none},
    {"advertise_addr_ipv6", text, none},
    {"advertise_addr_wan", text, none},
    {"advertise_addr_wan_ipv4", text, none},
    {"advertise_addr_wan_ipv6", text, none},
    {"ae_interval", text, none},
    {"alt_domain", text, none},
    {"audit", section, effective},
    {"audit.enabled", boolean, effective},
    {"audit.sink", section, effective},
    {"audit.sink.*", section, effective},
    {"audit.sink.*.type", text, effective},
    {"audit.sink.*.format", text, effective},
    {"audit.sink.*.path", text, effective},
    {"audit.sink.*.mode", text, effective},
    {"audit.sink.*.delivery_guarantee", text, effective},
    {"audit.sink.*.rotate_bytes", integer, effective},
    {"audit.sink.*.rotate_duration", duration, effective},
    {"audit.sink.*.rotate_max_files", integer, effective},
    {"cache", section, effective},
    {"cache.entry_fetch_max_burst", integer, none},
    {"cache.entry_fetch_rate", integer, none},
    {"check", definitions, effective, true},
    {"checks", definitions, effective, true},
    {"check_deregister_interval_min", text, none},
    {"check_http_allow", list, effective},
    {"check_output_max_size", integer, effective},
    {"check_reap_interval", text, none},
    {"check_update_interval", duration, effective},
    {"config_entries", opaque, none},
    {"connect", section, effective},
    {"connect.ca_config", opaque, none},
    {"connect.ca_provider", text, none},
    {"connect.enable_mesh_gateway_wan_federation", boolean, none},
    {"connect.enabled", boolean, none},
    {"connect.test_ca_leaf_root_change_spread", text, none},
    {"consul", section, effective},
    {"consul.coordinate", section, effective},
    {"consul.coordinate.update_batch_size", integer, none},
    {"consul.coordinate.update_max_batches", integer, none},
    {"consul.coordinate.update_period", text, none},
    {"consul.raft", section, effective},
    {"consul.raft.election_timeout", text, none},
    {"consul.raft.heartbeat_timeout", text, none},
    {"consul.raft.leader_lease_timeout", text, none},
    {"consul.server", section, effective},
    {"consul.server.health_interval", text, none},
    {"disable_anonymous_signature", boolean, silent},
    {"disable_coordinates", boolean, effective},
    {"disable_host_node_id", boolean, silent},
    {"disable_keyring_file", boolean, effective, true},
    {"disable_remote_exec", boolean, silent},
    {"disable_update_check", boolean, silent},
    {"discard_check_output", boolean, none},
    {"dns_config", section, effective},
    {"dns_config.a_record_limit", integer, none},
    {"dns_config.allow_stale", boolean, none},
    {"dns_config.cache_max_age", duration, none},
    {"dns_config.disable_compression", boolean, none},
    {"dns_config.enable_additional_node_meta_txt", boolean, none},
    {"dns_config.enable_truncate", boolean, none},
    {"dns_config.max_stale", duration, none},
    {"dns_config.node_ttl", duration, none},
    {"dns_config.only_passing", boolean, none},
    {"dns_config.prefer_namespace", boolean, none},
    {"dns_config.recursor_timeout", duration, none},
    {"dns_config.service_ttl", text_map, none},
    {"dns_config.soa", section, effective},
    {"dns_config.soa.expire", integer, none},
    {"dns_config.soa.min_ttl", integer, none},
    {"dns_config.soa.refresh", integer, none},
    {"dns_config.soa.retry", integer, none},
    {"dns_config.udp_answer_limit", integer, none},
    {"dns_config.use_cache", boolean, none},
    {"domain", text, effective, true},
    {"enable_agent_tls_for_checks", boolean, none},
    {"enable_central_service_config", boolean, silent},
    {"enable_debug", boolean, none},
    {"enable_local_script_checks", boolean, effective},
    {"enable_syslog", boolean, none},
    {"gossip_lan", section, effective},
    {"gossip_lan.gossip_interval", duration, none},
    {"gossip_lan.gossip_nodes", integer, none},
    {"gossip_lan.probe_interval", duration, none},
    {"gossip_lan.probe_timeout", duration, none},
    {"gossip_lan.retransmit_mult", integer, none},
    {"gossip_lan.suspicion_mult", integer, none},
    {"gossip_wan", section, effective},
    {"gossip_wan.gossip_interval", duration, none},
    {"gossip_wan.gossip_nodes", integer, none},
    {"gossip_wan.probe_interval", duration, none},
    {"gossip_wan.probe_timeout", duration, none},
    {"gossip_wan.retransmit_mult", integer, none},
    {"gossip_wan.suspicion_mult", integer, none},
    {"license_path", text, none},
    {"log_rotate_bytes", integer, none},
    {"log_rotate_duration", duration, none},
    {"log_rotate_max_files", integer, none},
    {"non_voting_server", boolean, effective},
    {"read_replica", boolean, effective},
    {"primary_datacenter", text, none},
    {"primary_gateways", list, none},
    {"primary_gateways_interval", duration, none},
    {"protocol", integer, silent},
    {"raft_protocol", integer, silent},
    {"reconnect_timeout", duration, none},
    {"reconnect_timeout_wan", duration, none},
    {"recursors", list, none},
    {"rejoin_after_leave", boolean, effective},
    {"retry_interval_wan", duration, none},
    {"retry_join_wan", list, none},
    {"retry_max_wan", integer, none},
    {"revision", text, none},
    {"segment", text, refused},
    {"segments", opaque, refused},
    {"segment_limit", integer, none},
    {"segment_name_limit", integer, none},
    {"serf_lan", text, none},
    {"serf_lan_allowed_cidrs", list, none},
    {"serf_wan", text, none},
    {"serf_wan_allowed_cidrs", list, none},
    {"service", definitions, effective, true},
    {"services", definitions, effective, true},
    {"snapshot_agent", opaque, none},
    {"start_join_wan", list, none},
    {"sync_coordinate_interval_min", text, none},
    {"sync_coordinate_rate_target", integer, none},
    {"syslog_facility", text, none},
    {"translate_wan_addrs", boolean, none},
    {"ui_dir", text, none},
    {"unix_sockets", section, effective},
    {"unix_sockets.user", text, effective},
    {"unix_sockets.group", text, effective},
    {"unix_sockets.mode", text, effective},
    {"version", text, none},
    {"version_prerelease", text, none},
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

std::string type_complaint(const config_key& key, const std::string& path, const json::value& v) {
  if (key.kind != section)
    return "'" + path + "' expected type '" + std::string(type_wanted(key.kind)) + "', got unconvertible type '" +
           std::string(type_found(v)) + "'";
  return "'" + path + "' expected a map, got '" +
         (v.is_string()  ? "string"
          : v.is_array() ? "slice"
          : v.is_bool()  ? "bool"
                         : "float64") +
         "'";
}

/// A member of a section: its key, and its name in paths.
struct found_key {
  const config_key* key;                  ///< null: unknown
  std::string name;                       ///< in lower case, except for free names
  const renamed_name* old_name = nullptr; ///< the row, if the text has the old name of the key
};

/// @param section the beginning of the paths in the table, followed by a dot
found_key find_member(const std::string& section, std::string_view written) {
  auto name = lower_case(written);
  const auto* row = find_old_name(name_kind::config_key, section + name);
  if (row != nullptr)
    name = row->name.substr(section.size()); // a renamed key stays in its section
  if (const auto* key = find_config_key(section + name); key != nullptr && name != any_name)
    return {key, std::move(name), row};
  return {find_config_key(section + std::string(any_name)), std::string(written)};
}

void add_once(std::vector<const renamed_name*>& names, const renamed_name* row) {
  if (std::find(names.begin(), names.end(), row) == names.end())
    names.push_back(row);
}

/// Takes the known keys of one source, with their locations.
class source_check {
public:
  source_check(const std::string& source, placed_config& out, config_problems& problems)
      : source_(source), locations_(out.locations), old_names_(out.old_names), problems_(problems) {}

  /// @param prefix prefix of the paths in messages
  /// @param section_path prefix of the paths in the table
  /// @param at locations of the members of `in`; null: unknown
  json::object known(const json::object& in, const std::string& prefix, const std::string& section_path,
                     const file_locations* at) {
    json::object out;
    for (const auto& member : in) {
      const std::string written(member.key());
      const auto [key, name, old_name] = find_member(section_path, written);
      const auto path = prefix + name;
      const auto* there = at != nullptr ? at->member(written) : nullptr;
      if (!key) {
        complain(config_problem::kind::unknown_key, "invalid config key " + prefix + written, there);
        continue;
      }
      const auto& v = member.value();
      if (v.is_null())
        continue; // as if it were not set
      // A list may contain one object instead of the object itself, as in HCL converted to JSON.
      const bool wrapped = (key->kind == section || key->kind == text_map) && v.is_array() && v.get_array().size() == 1;
      const auto& inner = wrapped ? v.get_array().front() : v;
      const auto* inside = wrapped && there != nullptr ? there->element(0) : there;
      if (!fits(inner, key->kind)) {
        complain(config_problem::kind::wrong_type, type_complaint(*key, path, inner), there, path);
        continue;
      }
      if (!is_same_by_both_names(path, old_name, out.if_contains(name), inner, there))
        continue;
      note(path, there);
      if (key->kind == section)
        out[name] = known(inner.get_object(), path + ".", std::string(key->path) + ".", inside);
      else
        out[name] = inner;
      if (inside == nullptr)
        continue;
      for (std::size_t i = 0; i < inside->elements.size(); ++i)
        note(element_path(path, i), inside->element(i));
      if (key->kind == text_map)
        for (const auto& [each, location] : inside->members)
          note(path + "." + each, &location);
    }
    return out;
  }

private:
  /// Notes an old name. @param before the value under the other name; null: none
  /// @returns false after reporting that the values differ
  bool is_same_by_both_names(const std::string& path, const renamed_name* old_name, const json::value* before,
                             const json::value& now, const file_locations* at) {
    if (old_name != nullptr)
      add_once(old_names_, old_name);
    const auto* row = find_new_name(name_kind::config_key, path);
    if (row == nullptr || before == nullptr || *before == now)
      return true;
    problems_.add({config_problem::kind::value,
                   {},
                   std::string(row->name) + " and its old name " + std::string(row->old_name) +
                       " have different values: remove the old name",
                   location_of(at)});
    return false;
  }
  source_location location_of(const file_locations* at) const {
    return {source_, at != nullptr ? at->at : file_location{}};
  }
  void note(const std::string& path, const file_locations* at) {
    if (at != nullptr)
      locations_[path] = location_of(at);
  }
  void complain(config_problem::kind kind, std::string text, const file_locations* at, std::string key = {}) {
    // The complaint begins with the source, because a source alone is not a location.
    problems_.add(
        {kind, source_, std::move(text), at != nullptr ? location_of(at) : source_location{}, std::move(key)});
  }

  const std::string& source_;
  source_locations& locations_;
  std::vector<const renamed_name*>& old_names_;
  config_problems& problems_;
};

/// Whether a setting requests anything: disabled or empty ones fit a server without the feature.
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

/// Whether to warn that the key with this value has no effect.
bool is_without_effect(const config_key& key, const json::value& v) {
  return key.effect == none ? asks_for_something(v) : key.effect == as_if_true && v.is_bool() && !v.get_bool();
}

void collect(const json::object& in, const std::string& prefix, std::vector<std::string>& out) {
  for (const auto& member : in) {
    auto path = prefix + std::string(member.key());
    const auto* key = find_config_key(path);
    if (key && key->kind == section)
      collect(member.value().get_object(), path + ".", out);
    else if (key && is_without_effect(*key, member.value()))
      out.push_back(path);
  }
}

/// Number of definitions in the value of such a key.
std::size_t count_of(const json::value& v) {
  return v.is_array() ? v.get_array().size() : 1;
}

/// Replaces `path` and what is below it, or appends the elements to the existing ones.
void merge_locations(source_locations& into, const source_locations& later, const std::string& path,
                     std::size_t elements_before) {
  if (elements_before == 0)
    for (auto i = into.lower_bound(path + "["); i != into.end() && i->first.starts_with(path + "[");)
      i = into.erase(i);
  const auto at = later.find(path);
  if (at != later.end())
    into[path] = at->second;
  for (std::size_t i = 0;; ++i) {
    const auto element = later.find(element_path(path, i));
    if (element == later.end())
      return;
    into[element_path(path, elements_before + i)] = element->second;
  }
}

/// @param prefix,section_path as in source_check::known
void merge_member(placed_config& all, json::object& into, const std::string& prefix, const std::string& section_path,
                  std::string_view name, const json::value& value, const placed_config& later) {
  const auto path = prefix + std::string(name);
  const auto* key = find_member(section_path, name).key;
  auto* now = into.if_contains(name);
  std::size_t before = 0;
  if (key && key->kind == section) {
    if (!now)
      now = &(into[name] = json::object());
    for (const auto& member : value.get_object())
      merge_member(all, now->get_object(), path + ".", std::string(key->path) + ".", member.key(), member.value(),
                   later);
  } else if (!now || !key) {
    into[name] = value;
  } else if (key->kind == text_map) {
    for (const auto& member : value.get_object())
      now->get_object()[member.key()] = member.value();
  } else if (key->kind == list) {
    before = now->get_array().size();
    for (const auto& v : value.get_array())
      now->get_array().push_back(v);
  } else if (key->kind == definitions) {
    before = count_of(*now);
    json::array both;
    for (const auto* source : {static_cast<const json::value*>(now), &value}) {
      if (const auto* some = source->if_array())
        both.insert(both.end(), some->begin(), some->end());
      else
        both.push_back(*source);
    }
    *now = std::move(both);
  } else {
    *now = value;
  }
  merge_locations(all.locations, later.locations, path, before);
  if (key && key->kind == text_map)
    for (const auto& member : value.get_object())
      merge_locations(all.locations, later.locations, path + "." + std::string(member.key()), 0);
}

} // namespace

std::span<const config_key> config_keys() {
  return keys;
}

const config_key* find_config_key(std::string_view path) {
  for (const auto& k : keys)
    if (k.path == path)
      return &k;
  return nullptr;
}

placed_config check_config_source(const std::string& source, const config_text& text, config_problems& problems) {
  placed_config out;
  source_check check(source, out, problems);
  out.values = check.known(text.values, "", "", &text.locations);
  // One definition is a list of one.
  for (const auto& key : keys)
    if (const auto at = out.locations.find(key.path); key.kind == definitions && at != out.locations.end())
      if (const auto* v = out.values.if_contains(key.path); v && v->is_object())
        out.locations[element_path(key.path, 0)] = source_location(at->second);
  return out;
}

void merge_config(placed_config& into, const placed_config& later) {
  for (const auto* row : later.old_names)
    add_once(into.old_names, row);
  for (const auto& member : later.values)
    merge_member(into, into.values, "", "", member.key(), member.value(), later);
}

std::vector<std::string> keys_without_effect(const json::object& config) {
  std::vector<std::string> out;
  collect(config, "", out);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> keys_for_the_next_start(const json::object& before, const json::object& now) {
  std::vector<std::string> out;
  for (const auto& key : keys) {
    // Sections with free names are compared as a whole.
    const bool has_names = find_config_key(std::string(key.path) + "." + std::string(any_name)) != nullptr;
    if ((key.kind == section && !has_names) || key.path.find(any_name) != key.path.npos || key.reloaded ||
        (key.effect != effective && key.effect != refused))
      continue;
    const auto* was = value_at(before, key.path);
    const auto* is = value_at(now, key.path);
    if ((was == nullptr) != (is == nullptr) || (was != nullptr && *was != *is))
      out.emplace_back(key.path);
  }
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace belay::actors
