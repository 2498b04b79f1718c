#include "actors/node/config/node_config.hpp"

#include "actors/node/config/checks.hpp"
#include "actors/node/config/decoder.hpp"
#include "actors/node/config/sections/sections.hpp"
#include "actors/node/config/sources.hpp"
#include "actors/telemetry/vitals.hpp"
#include "protocol/agent/metadata.hpp"
#include "protocol/base/ascii_case.hpp"
#include "protocol/base/uuid.hpp"
#include "protocol/go_compat/duration.hpp"
#include "protocol/http/tokens.hpp"
#include "protocol/state/restore/row_rules.hpp"

#include <algorithm>
#include <limits>
#include <sys/stat.h>

namespace belay::actors {

namespace json = boost::json;

namespace {

using decoder = config_decoder;

constexpr std::int64_t int_max = std::numeric_limits<int>::max();
constexpr std::int64_t big = std::numeric_limits<std::int64_t>::max();

void decode_identity(decoder& d, node_config& c) {
  d.get("data_dir", c.data_dir);
  d.get("node_name", c.node_name);
  d.get("node_id", c.node_id);
  d.get("datacenter", c.datacenter);
  d.get("node_meta", c.node_meta);
  if (c.node_name.empty())
    c.node_name = host_name();
  c.datacenter = lower_case(c.datacenter);
  if (c.datacenter.empty())
    d.wrong("datacenter", "datacenter cannot be empty");
  if (c.datacenter.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") != std::string::npos)
    d.wrong("datacenter", "datacenter cannot be \"" + c.datacenter + "\". Please use only [a-z0-9-_].");
  c.node_id = lower_case(c.node_id);
  if (!c.node_id.empty() && !is_uuid(c.node_id))
    d.wrong("node_id", "node_id: \"" + c.node_id + "\" is not a UUID");
  if (auto why = agent::metadata_size_complaint(c.node_meta))
    d.wrong("node_meta", "node_meta invalid: " + *why);
  for (const auto& [key, value] : c.node_meta)
    if (auto why = agent::metadata_pair_complaint(key, value))
      d.wrong("node_meta." + key, "node_meta invalid: " + *why);
}

/// How this node joins or forms a cluster. Reads the keys first, then rejects contradictions and
/// warns in Consul's words.
void decode_formation(decoder& d, node_config& c, std::vector<std::string>& warnings) {
  int expect = 0;
  d.get("server", c.server);
  d.get("bootstrap", c.bootstrap);
  d.get("bootstrap_expect", expect, -int_max, int_max);
  d.get("allow_unauthenticated_servers", c.allow_unauthenticated_servers);
  bool non_voting = false;
  d.get("read_replica", c.read_replica);
  d.get("non_voting_server", non_voting);
  c.read_replica = c.read_replica || non_voting;
  c.leave_on_terminate = !c.server; // as in Consul: a client agent leaves when it ends
  c.skip_leave_on_interrupt = c.server;
  d.get("leave_on_terminate", c.leave_on_terminate);
  d.get("skip_leave_on_interrupt", c.skip_leave_on_interrupt);
  d.get("rejoin_after_leave", c.rejoin_after_leave);
  for (const std::string key : {"start_join", "retry_join"}) {
    std::vector<std::string> joins;
    d.get(key, joins);
    for (std::size_t i = 0; i < joins.size(); ++i)
      if (joins[i].find("provider=") != std::string::npos)
        d.wrong(
            element_path(key, i),
            key + ": finding servers through a cloud provider is not supported; write their addresses or host names: " +
                joins[i]);
    c.joins.insert(c.joins.end(), joins.begin(), joins.end());
  }
  if (expect < 0)
    d.wrong("bootstrap_expect",
            "bootstrap_expect cannot be " + std::to_string(expect) + ". Must be greater than or equal to zero");
  if (expect > 0 && c.dev)
    d.complain("'bootstrap_expect > 0' not allowed in dev mode", {"bootstrap_expect"});
  if (c.bootstrap && c.dev)
    d.complain("'bootstrap = true' not allowed in dev mode", {"bootstrap"});
  if (expect > 0 && c.bootstrap)
    d.complain("'bootstrap_expect > 0' and 'bootstrap = true' are mutually exclusive",
               {"bootstrap_expect", "bootstrap"});
  if (c.bootstrap && !c.server)
    d.complain("'bootstrap = true' requires 'server = true'", {"bootstrap"}, {"server"});
  if (expect > 0 && !c.server)
    d.complain("'bootstrap_expect > 0' requires 'server = true'", {"bootstrap_expect"}, {"server"});
  if (c.read_replica) {
    const std::string name = non_voting ? "non_voting_server" : "read_replica";
    if (!c.server)
      d.complain("'" + name + " = true' requires 'server = true'", {name}, {"server"});
    if (c.dev)
      d.complain("'" + name + " = true' not allowed in dev mode", {name});
    if (c.bootstrap)
      d.complain("'bootstrap = true' and '" + name + " = true' are mutually exclusive", {"bootstrap", name});
    if (expect > 0)
      d.complain("'bootstrap_expect > 0' and '" + name + " = true' are mutually exclusive", {"bootstrap_expect", name});
  }
  if (c.bootstrap)
    warnings.push_back("bootstrap = true: this server forms a cluster of one");
  if (expect == 1)
    warnings.push_back("bootstrap_expect is set to 1; this is the same as setting bootstrap = true.");
  if (expect == 2)
    warnings.push_back("bootstrap_expect = 2: A cluster with 2 servers will provide no failure tolerance.");
  else if (expect > 2 && expect % 2 == 0)
    warnings.push_back(
        "bootstrap_expect is even number: A cluster with an even number of servers does not achieve optimum fault "
        "tolerance.");
  if (expect == 1 || c.dev)
    c.bootstrap = true;
  if (expect > 1)
    c.bootstrap_expect = expect;
}

void decode_autopilot(decoder& d, node_config& c) {
  if (!d.has("autopilot"))
    return;
  auto& a = c.autopilot.emplace();
  std::chrono::nanoseconds contact{a.last_contact_threshold_ns}, stable{a.server_stabilization_ns};
  std::int64_t trailing = static_cast<std::int64_t>(a.max_trailing_logs), quorum = 0;
  d.get("autopilot.cleanup_dead_servers", a.cleanup_dead_servers);
  d.get("autopilot.last_contact_threshold", contact);
  d.get("autopilot.max_trailing_logs", trailing, 0, int_max);
  d.get("autopilot.min_quorum", quorum, 0, int_max);
  d.get("autopilot.server_stabilization_time", stable);
  a.last_contact_threshold_ns = contact.count();
  a.server_stabilization_ns = stable.count();
  a.max_trailing_logs = static_cast<std::uint64_t>(trailing);
  a.min_quorum = static_cast<std::uint64_t>(quorum);
}

/// Rejects values of keys without effect if Consul rejects them.
void check_idle(decoder& d) {
  for (const auto& key : config_keys())
    if (std::chrono::nanoseconds ignored{}; key.kind == config_kind::duration && key.effect == config_effect::none)
      d.get(key.path, ignored);
  std::map<std::string, std::string> ttls;
  d.get("dns_config.service_ttl", ttls);
  for (const auto& [service, text] : ttls)
    if (!go_compat::parse_duration(text))
      d.wrong("dns_config.service_ttl." + service, "dns_config.service_ttl[\"" + service + "\"]: invalid duration: \"" +
                                                       text + "\": " + go_compat::duration_complaint(text));
}

/// As in Consul 1.8.7 (agent/config/builder.go: validContentPath, hasVersion, UIPathBuilder),
/// except for `/` alone: all paths would be the console's.
void decode_ui_content_path(decoder& d, node_config& c) {
  std::string given = c.ui_content_path;
  d.get("ui_content_path", given);
  if (given.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/") != given.npos)
    return d.wrong("ui_content_path", "ui-content-path can only contain alphanumeric, -, _, or /. received: " + given);
  const auto begin = given.find_first_not_of('/'), end = given.find_last_not_of('/');
  if (begin == given.npos)
    return given.empty() ? void() : d.wrong("ui_content_path", "ui-content-path cannot be " + given + " alone");
  const auto name = given.substr(begin, end + 1 - begin);
  if (name.starts_with('v') && name.size() > 1 && name.find_first_not_of("0123456789", 1) == name.npos)
    return d.wrong("ui_content_path", "ui-content-path cannot have 'v[0-9]'. received: " + given);
  c.ui_content_path = '/' + name + '/';
}

void decode_networks(decoder& d, const std::string& key, std::vector<std::string>& networks) {
  d.get(key, networks);
  for (std::size_t i = 0; i < networks.size(); ++i) {
    const auto slash = networks[i].find('/');
    if (slash == std::string::npos || !is_ip_address(networks[i].substr(0, slash)))
      d.wrong(element_path(key, i), key + ": invalid CIDR address: " + networks[i]);
  }
}

/// By default it applies only to servers unreachable from outside: others need no protection.
void decode_allowed_hosts(decoder& d, node_config& c) {
  constexpr auto key = "http_config.allowed_hosts";
  std::vector<std::string> names;
  d.get(key, names);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (const auto& name = names[i];
        name.empty() || name.find_first_of("/:[] \t") != name.npos || (name != "*" && name.find('*') != name.npos))
      d.wrong(element_path(key, i), std::string(key) + ": not a host name, \".\" and a domain, or \"*\": " + name);
  const auto is_local = [](const listen_address& l) {
    return !l.unix_path.empty() || l.host.starts_with("127.") || l.host == "::1";
  };
  const bool local = std::all_of(c.http_listeners.begin(), c.http_listeners.end(), is_local) &&
                     std::all_of(c.https_listeners.begin(), c.https_listeners.end(), is_local);
  const bool any = std::find(names.begin(), names.end(), "*") != names.end();
  if (!any && (local || d.has(key)))
    c.allowed_hosts = std::move(names);
}

/// As in Consul, 0 means the default.
void decode_checkpoints(decoder& d, node_config& c) {
  const node_config standard;
  // Consul uses its default for a number below one.
  std::int64_t threshold = 0, trailing = 0;
  d.get("raft_snapshot_threshold", threshold, -big, big);
  d.get("raft_snapshot_interval", c.raft_snapshot_interval);
  d.get("raft_trailing_logs", trailing, -big, big);
  d.get("raft_older_checkpoint_age", c.raft_older_checkpoint_age);
  d.get("raft_older_checkpoint_log_bytes", c.raft_older_checkpoint_log_bytes, 0, big);
  if (c.raft_older_checkpoint_age.count() <= 0)
    c.raft_older_checkpoint_age = standard.raft_older_checkpoint_age;
  if (c.raft_older_checkpoint_log_bytes == 0)
    c.raft_older_checkpoint_log_bytes = standard.raft_older_checkpoint_log_bytes;
  if (threshold > 0)
    c.raft_snapshot_threshold = static_cast<std::uint64_t>(threshold);
  if (c.raft_snapshot_interval.count() <= 0)
    c.raft_snapshot_interval = standard.raft_snapshot_interval;
  if (trailing > 0)
    c.raft_trailing_logs = static_cast<std::uint64_t>(trailing);
}

/// The sections `performance`, `limits` and `http_config`, and single keys of HTTP, the console and
/// checks.
void decode_limits(decoder& d, node_config& c) {
  int multiplier = c.dev ? 1 : 5;
  d.get("performance.raft_multiplier", multiplier, -int_max, int_max);
  if (multiplier < 1 || multiplier > 10)
    d.wrong("performance.raft_multiplier",
            "performance.raft_multiplier cannot be " + std::to_string(multiplier) + ". Must be between 1 and 10");
  c.raft_multiplier = multiplier;
  d.get("performance.rpc_hold_timeout", c.rpc_hold_timeout);
  decode_checkpoints(d, c);
  d.get("limits.kv_max_value_size", c.kv_max_value_size, 1, state::value_bytes_max);
  d.get("limits.txn_max_req_len", c.txn_max_req_len, 1, state::value_bytes_max);
  d.get("limits.http_max_conns_per_client", c.http_max_conns_per_client, -int_max, int_max);
  c.http_max_conns_per_client = std::max(c.http_max_conns_per_client, 0); // as in Consul: below zero is no limit, too
  d.get("limits.http_max_bytes_in_flight", c.http_max_bytes_in_flight, 0, big);
  if (c.http_max_bytes_in_flight != 0 && c.http_max_bytes_in_flight < c.bytes_in_flight_least)
    d.wrong("limits.http_max_bytes_in_flight",
            "limits.http_max_bytes_in_flight must be 0 or at least " + std::to_string(c.bytes_in_flight_least));
  constexpr std::uint64_t smallest_window = 64u << 10;
  d.get("limits.kv_changes_bytes", c.kv_changes_bytes, smallest_window, big);
  d.get("limits.overload_delay", c.overload_delay);
  d.get("limits.overload_requests", c.overload_requests, 1, big);
  d.get("session_ttl_min", c.session_ttl_min);
  d.get("default_query_time", c.default_query_time);
  d.get("max_query_time", c.max_query_time);
  d.get("discovery_max_stale", c.discovery_max_stale);
  std::string consistency = "default";
  d.get("default_consistency", consistency);
  c.consistent_by_default = consistency == "consistent";
  if (!c.consistent_by_default && consistency != "default")
    d.wrong("default_consistency",
            "default_consistency cannot be \"" + consistency + "\": it must be \"default\" or \"consistent\"");
  d.get("http_config.response_headers", c.response_headers);
  d.get("http_config.block_endpoints", c.block_endpoints);
  decode_networks(d, "http_config.allow_write_http_from", c.allow_write_http_from);
  decode_allowed_hosts(d, c);
  d.get("http_config.use_cache", c.use_cache);
  d.get("http_config.threads", c.http_threads, 1, static_cast<int>(vitals::http_threads_max));
  const auto all_http_threads = static_cast<std::uint64_t>(c.http_threads) * c.bytes_in_flight_least;
  if (c.http_max_bytes_in_flight != 0 && c.http_max_bytes_in_flight < all_http_threads)
    d.wrong("http_config.threads",
            "http_config.threads: this number requires limits.http_max_bytes_in_flight of at least " +
                std::to_string(all_http_threads) + ", or 0");
  d.get("disable_http_unprintable_char_filter", c.disable_http_unprintable_char_filter);
  c.ui = c.dev;
  d.get("ui", c.ui);
  decode_ui_content_path(d, c);
  d.get("enable_script_checks", c.enable_script_checks);
  d.get("enable_local_script_checks", c.enable_local_script_checks);
  if (std::vector<std::string> networks; d.has("check_http_allow")) {
    decode_networks(d, "check_http_allow", networks);
    c.check_http_allow = std::move(networks);
  }
  d.get("check_output_max_size", c.check_output_max_size, 1, int_max);
  d.get("check_update_interval", c.check_update_interval);
}

/// The section takes precedence over its predecessors. Texts are Consul's (CheckACL).
void decode_acl(decoder& d, acl_config& a) {
  std::string datacenter, otherwise = "allow", down = "extend-cache";
  std::chrono::nanoseconds ttl{};
  bool ignored = false;
  d.get("acl_datacenter", datacenter);
  a.enabled = !datacenter.empty();
  d.get("acl.enabled", a.enabled);
  const auto both = [&d](std::string_view old, std::string_view now, auto& to) {
    d.get(old, to);
    d.get(now, to);
  };
  both("acl_default_policy", "acl.default_policy", otherwise);
  both("acl_down_policy", "acl.down_policy", down);
  both("acl_enable_key_list_policy", "acl.enable_key_list_policy", a.lists_need_permission);
  both("acl_master_token", "acl.tokens.initial_management", a.master);
  d.get("acl.tokens.master", a.master);
  both("acl_token", "acl.tokens.default", a.of_requests);
  both("acl_agent_token", "acl.tokens.agent", a.agent);
  both("acl_agent_master_token", "acl.tokens.agent_recovery", a.agent_master);
  d.get("acl.tokens.agent_master", a.agent_master);
  both("acl_replication_token", "acl.tokens.replication", a.replication);
  d.get("acl.enable_token_persistence", a.keeps_tokens);
  // These have no effect; values that Consul rejects are rejected.
  both("acl_ttl", "acl.token_ttl", ttl);
  d.get("acl.policy_ttl", ttl);
  d.get("acl.role_ttl", ttl);
  d.get("acl_enforce_version_8", ignored);
  a.allowed_by_default = otherwise == "allow";
  if (!a.allowed_by_default && otherwise != "deny")
    d.wrong("acl.default_policy", "Unsupported default ACL policy: " + otherwise);
  if (down != "allow" && down != "deny" && down != "extend-cache" && down != "async-cache")
    d.wrong("acl.down_policy", "Unsupported down ACL policy: " + down);
  for (const auto reserved : {"allow", "deny", "manage", "anonymous"})
    if (a.master == reserved || a.agent_master == reserved)
      d.wrong("acl.tokens", "acl.tokens: no token can be \"" + std::string(reserved) + "\"");
  for (const auto* secret : {&a.master, &a.of_requests, &a.agent, &a.agent_master, &a.replication})
    if (!secret->empty() && !http::could_be_token(*secret)) // its text is not shown
      d.wrong("acl.tokens", "acl.tokens: a token has 1 to " + std::to_string(http::token_bytes_max) +
                                " bytes of printable ASCII without spaces");
}

void decode_operation(decoder& d, node_config& c) {
  std::string level = c.dev ? "DEBUG" : "INFO";
  d.get("log_level", level);
  if (auto l = log::level_named(level))
    c.log.lowest = *l;
  else
    d.wrong("log_level", "Invalid log level: " + level + ". Valid log levels are: [TRACE DEBUG INFO WARN ERR]");
  d.get("log_json", c.log.json);
  d.get("log_file", c.log.file);
  d.get("pid_file", c.pid_file);
  d.get("telemetry.prometheus_retention_time", c.prometheus_retention_time);
  d.get("telemetry.metrics_prefix", c.metrics_prefix);
  d.get("telemetry.old_names", c.old_metric_names);
}

void decode_data_dir(decoder& d, node_config& c) {
  struct stat st {};
  if (c.data_dir.empty() && !c.dev)
    d.complain("data_dir cannot be empty", {"data_dir"}, {"data_dir"});
  else if (!c.data_dir.empty() && ::stat(c.data_dir.c_str(), &st) == 0 && !S_ISDIR(st.st_mode))
    d.wrong("data_dir", "data_dir \"" + c.data_dir + "\" is not a directory");
  if (c.dev)
    c.data_dir.clear();
}

/// Rejects features that this build lacks.
void check_refusals(decoder& d, const node_config& c) {
  for (auto& each : refused_protection(d.values()))
    d.wrong(each.path, std::move(each.text));
}

std::variant<parsed_command_line, config_error> decode(const placed_config& merged, bool dev, config_problems problems,
                                                       std::vector<std::string> warnings) {
  decoder d(merged, problems);
  parsed_command_line out;
  auto& c = out.config;
  c.dev = dev;
  c.server = dev;
  decode_identity(d, c);
  decode_data_dir(d, c);
  decode_formation(d, c, warnings);
  decode_autopilot(d, c);
  decode_addresses(d, c, warnings);
  decode_security(d, c, warnings);
  decode_acl(d, c.acl);
  decode_limits(d, c);
  decode_operation(d, c);
  check_idle(d);
  decode_definitions(d, c);
  decode_audit(d, c);
  if (c.audit && !c.acl.enabled)
    warnings.push_back("audit.enabled without acl.enabled: the lines of the audit log do not identify the clients");
  check_refusals(d, c);
  if (!problems.none())
    return config_error{problems.shown()};
  if (auto idle = keys_without_effect(merged.values); !idle.empty()) {
    std::string line = "settings without effect in this build:";
    for (const auto& key : idle)
      line += (&key == &idle.front() ? " " : ", ") + key;
    warnings.push_back(line);
  }
  out.warnings = std::move(warnings);
  out.old_names = merged.old_names;
  out.settings = merged.values;
  return out;
}

std::variant<parsed_command_line, config_error> load(const agent_flags& flags) {
  if (!flags.format.empty() && flags.format != "json" && flags.format != "hcl")
    return config_error{"config: -config-format must be either 'hcl' or 'json'"};
  std::vector<std::string> warnings;
  config_problems problems;
  config_sources sources(flags.format, problems, warnings);
  sources.add_flags(flags.lists);
  for (const auto& path : flags.files)
    sources.read_path(path);
  sources.add_flags(flags.values);
  for (const auto& text : flags.inlined)
    sources.read_inlined(text);
  return decode(sources.merged(), flags.dev, std::move(problems), std::move(warnings));
}

} // namespace

std::variant<parsed_command_line, config_error> parse_agent_arguments(const std::vector<std::string>& args) {
  auto flags = parse_agent_flags(args);
  if (auto* error = std::get_if<config_error>(&flags))
    return *error;
  return load(std::get<agent_flags>(flags));
}

std::variant<parsed_command_line, config_error> parse_config_files(const std::vector<std::string>& paths,
                                                                   const std::string& format) {
  agent_flags flags;
  flags.files = paths;
  flags.format = format;
  return load(flags);
}

} // namespace belay::actors
