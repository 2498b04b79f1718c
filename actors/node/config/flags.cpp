#include "actors/node/config/flags.hpp"
#include "protocol/go_compat/flags.hpp"
#include "protocol/go_compat/syntax.hpp"

#include <charconv>
#include <optional>

namespace belay::actors {

namespace json = boost::json;

namespace {

enum class flag_kind { boolean, integer, text, list, text_map, dev, help, file, format, inlined };

struct flag {
  std::string_view name;
  flag_kind kind;
  std::string_view path; ///< configuration key
  std::string_view help;
};

using enum flag_kind;

constexpr flag flags[] = {
    {"advertise", text, "advertise_addr", "address at which peers reach this node (default: -bind)"},
    {"advertise-wan", text, "advertise_addr_wan", "no effect"},
    {"allow-write-http-from", list, "http_config.allow_write_http_from",
     "network (CIDR) from which HTTP writes are accepted"},
    {"alt-domain", text, "alt_domain", "no effect"},
    {"bind", text, "bind_addr", "address for peers (default 0.0.0.0)"},
    {"bootstrap", boolean, "bootstrap", "form a new cluster of this server alone"},
    {"bootstrap-expect", integer, "bootstrap_expect", "number of servers of a new cluster, before its first election"},
    {"check_output_max_size", integer, "check_output_max_size",
     "maximum bytes of a check's output that are kept (default 4096)"},
    {"client", text, "client_addr", "addresses for HTTP, separated by blanks (default 127.0.0.1)"},
    {"config-dir", file, "", "folder of .hcl and .json files, read in alphabetical order"},
    {"config-file", file, "", "HCL or JSON file; later files override, lists are appended"},
    {"config-format", format, "", "format of files with any name: hcl or json"},
    {"data-dir", text, "data_dir", "folder of all data"},
    {"datacenter", text, "datacenter", "name of the datacenter (default dc1)"},
    {"default-query-time", text, "default_query_time", "wait of blocking queries without ?wait (default 300s)"},
    {"dev", dev, "", "run a single server with its data in memory"},
    {"disable-host-node-id", boolean, "disable_host_node_id", "no effect: node IDs are always random"},
    {"disable-keyring-file", boolean, "disable_keyring_file", "do not store encryption keys in the data directory"},
    {"dns-port", integer, "ports.dns", "no effect: there is no DNS"},
    {"domain", text, "domain", "domain part of server certificate names (default consul)"},
    {"enable-local-script-checks", boolean, "enable_local_script_checks",
     "allow checks in configuration files to run programs"},
    {"enable-script-checks", boolean, "enable_script_checks", "allow all checks to run programs"},
    {"encrypt", text, "encrypt", "secret shared by all servers, from `belay keygen`"},
    {"grpc-port", integer, "ports.grpc", "no effect"},
    {"h", help, "", "print this text"},
    {"hcl", inlined, "", "configuration text (HCL or JSON)"},
    {"help", help, "", "print this text"},
    {"http-port", integer, "ports.http", "port of the HTTP API (default 8500); 0 or less: none"},
    {"https-port", integer, "ports.https", "port of the HTTP API over TLS (default -1); 0 or less: none"},
    {"join", list, "start_join", "as -retry-join"},
    {"join-wan", list, "start_join_wan", "no effect"},
    {"log-file", text, "log_file", "also write the log to this file"},
    {"log-json", boolean, "log_json", "write the log as JSON objects"},
    {"log-level", text, "log_level", "TRACE, DEBUG, INFO, WARN or ERR (default INFO)"},
    {"log-rotate-bytes", integer, "log_rotate_bytes", "no effect: rename the file and send SIGHUP"},
    {"log-rotate-duration", text, "log_rotate_duration", "no effect"},
    {"log-rotate-max-files", integer, "log_rotate_max_files", "no effect"},
    {"max-query-time", text, "max_query_time", "longest wait of a blocking query (default 600s)"},
    {"node", text, "node_name", "name of this node (default: the host name)"},
    {"node-id", text, "node_id", "UUID of this node (default: random, stored in the data directory)"},
    {"node-meta", text_map, "node_meta", "key:value that is shown with this node in the catalog"},
    {"non-voting-server", boolean, "non_voting_server", "older name of -read-replica"},
    {"pid-file", text, "pid_file", "file that holds the process ID"},
    {"primary-gateway", list, "primary_gateways", "no effect"},
    {"protocol", integer, "protocol", "no effect"},
    {"raft-protocol", integer, "raft_protocol", "no effect"},
    {"read-replica", boolean, "read_replica", "run a server without a vote that answers reads"},
    {"recursor", list, "recursors", "no effect: there is no DNS"},
    {"rejoin", boolean, "rejoin_after_leave", "rejoin a cluster that this server has left"},
    {"retry-interval", text, "retry_interval", "no effect: peers are retried within half a second"},
    {"retry-interval-wan", text, "retry_interval_wan", "no effect"},
    {"retry-join", list, "retry_join", "peer, as host or host:port (its -server-port)"},
    {"retry-join-wan", list, "retry_join_wan", "no effect"},
    {"retry-max", integer, "retry_max", "no effect: retries have no limit"},
    {"retry-max-wan", integer, "retry_max_wan", "no effect"},
    {"segment", text, "segment", "rejected: there is one network"},
    {"serf-lan-allowed-cidrs", list, "serf_lan_allowed_cidrs", "no effect"},
    {"serf-lan-bind", text, "serf_lan", "no effect"},
    {"serf-lan-port", integer, "ports.serf_lan", "no effect: there is no gossip"},
    {"serf-wan-allowed-cidrs", list, "serf_wan_allowed_cidrs", "no effect"},
    {"serf-wan-bind", text, "serf_wan", "no effect"},
    {"serf-wan-port", integer, "ports.serf_wan", "shown with the members; nothing listens there"},
    {"server", boolean, "server", "run a server, not a client agent"},
    {"server-port", integer, "ports.server", "port for peers (default 8300)"},
    {"syslog", boolean, "enable_syslog", "no effect"},
    {"ui", boolean, "ui", "serve the web console"},
    {"ui-content-path", text, "ui_content_path", "path of the console (default /ui/)"},
    {"ui-dir", text, "ui_dir", "no effect"},
};

const flag* find_flag(std::string_view name) {
  for (const auto& f : flags)
    if (f.name == name)
      return &f;
  return nullptr;
}

/// Whether the flag needs no value.
bool is_switch(flag_kind kind) {
  return kind == boolean || kind == dev || kind == help;
}

config_error usage_error(std::string text) {
  return {std::move(text), 1, true};
}

/// The member at `path` (`ports.http`), creating its sections.
json::value& at_path(json::object& o, std::string_view path) {
  auto dot = path.find('.');
  if (dot == path.npos)
    return o[path];
  auto& section = o[path.substr(0, dot)];
  if (!section.is_object())
    section.emplace_object();
  return at_path(section.get_object(), path.substr(dot + 1));
}

/// @returns empty, or the error.
std::string take(agent_flags& out, const flag& f, const std::string& value) {
  const auto name = std::string(f.name);
  switch (f.kind) {
  case boolean:
  case dev: {
    auto b = go_compat::parse_bool(value);
    if (!b)
      return "invalid boolean value " + go_compat::quoted(value) + " for -" + name + ": " +
             go_compat::invalid_syntax("ParseBool", value).text;
    if (f.kind == dev)
      out.dev = *b;
    else
      at_path(out.values, f.path) = *b;
    break;
  }
  case integer: {
    std::int64_t n = 0;
    auto begin = value.data() + (value.starts_with('+') ? 1 : 0), end = value.data() + value.size();
    auto r = std::from_chars(begin, end, n);
    if (r.ec != std::errc() || r.ptr != end || begin == end)
      return "invalid value " + go_compat::quoted(value) + " for flag -" + name + ": " +
             go_compat::invalid_syntax("ParseInt", value).text;
    at_path(out.values, f.path) = n;
    break;
  }
  case text:
    at_path(out.values, f.path) = value;
    break;
  case list: {
    auto& v = at_path(out.lists, f.path);
    if (!v.is_array())
      v.emplace_array();
    v.get_array().push_back(json::value(value));
    break;
  }
  case text_map: {
    auto colon = value.find(':');
    auto& v = at_path(out.values, f.path);
    if (!v.is_object())
      v.emplace_object();
    v.get_object()[value.substr(0, colon)] = colon == value.npos ? std::string() : value.substr(colon + 1);
    break;
  }
  case file:
    out.files.push_back(value);
    break;
  case format:
    out.format = value;
    break;
  case inlined:
    out.inlined.push_back(value);
    break;
  case help:
    break;
  }
  return {};
}

} // namespace

std::variant<agent_flags, config_error> parse_agent_flags(const std::vector<std::string>& args) {
  agent_flags out;
  go_compat::flag_reader words(args, [](std::string_view name) -> std::optional<go_compat::flag_takes> {
    const auto* f = find_flag(name);
    if (!f)
      return std::nullopt;
    return is_switch(f->kind) ? go_compat::flag_takes::nothing : go_compat::flag_takes::value;
  });
  for (;;) {
    const auto given = words.next();
    if (!given)
      return usage_error(given.error());
    if (!*given)
      break;
    const auto* f = find_flag((*given)->name);
    if (f->kind == help)
      return config_error{"", 0, true};
    if (auto complaint = take(out, *f, (*given)->value.value_or("true")); !complaint.empty())
      return usage_error(std::move(complaint));
  }
  std::string rest;
  for (const auto& word : words.rest())
    rest += (rest.empty() ? "" : " ") + word;
  if (!rest.empty())
    return config_error{"config: Unknown extra arguments: [" + rest + "]"};
  return out;
}

std::string_view flag_of_key(std::string_view path) {
  for (const auto& f : flags)
    if (f.path == path)
      return f.name;
  return {};
}

std::vector<flag_of_agent> flags_of_agent() {
  std::vector<flag_of_agent> out;
  for (const auto& f : flags)
    out.push_back({f.name, f.help, !is_switch(f.kind)});
  return out;
}

} // namespace belay::actors
