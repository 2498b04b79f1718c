#pragma once
// The configuration of a node: Consul's flags and JSON keys, merged, checked and decoded.

#include "actors/audit/audit_settings.hpp"
#include "actors/telemetry/log.hpp"
#include "actors/tls/credentials.hpp"
#include "actors/tls/https_credentials.hpp"
#include "protocol/agent/definitions.hpp"
#include "protocol/base/host_port.hpp"
#include "protocol/state/operators/settings.hpp"

#include <boost/json/object.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace belay {
struct renamed_name;
}

namespace belay::actors {

/// The section `acl`, and its predecessors, the keys of Consul 1.3.
struct acl_config {
  bool enabled = false;               ///< acl.enabled, or acl_datacenter is set
  bool allowed_by_default = true;     ///< acl.default_policy is `allow`
  bool lists_need_permission = false; ///< acl.enable_key_list_policy
  bool keeps_tokens = false;          ///< acl.enable_token_persistence
  // acl.tokens; empty: none
  std::string master;
  std::string of_requests; ///< acl.tokens.default
  std::string agent, agent_master, replication;
};

/// Values are decoded and in range. Comments name the JSON keys; defaults are Consul's.
struct node_config {
  using duration = std::chrono::nanoseconds;

  // Identity
  bool dev = false;               ///< -dev: nothing on disk, quick election, pretty JSON
  std::string data_dir;           ///< data_dir; empty only with -dev
  std::string node_name;          ///< node_name; by default the host name
  std::string node_id;            ///< node_id, a lower-case UUID; empty: random, stored in data_dir
  std::string datacenter = "dc1"; ///< datacenter, lower case
  std::map<std::string, std::string> node_meta;

  // Forming a cluster
  bool server = false;
  bool bootstrap = false;                     ///< bootstrap, or bootstrap_expect = 1, or -dev
  bool allow_unauthenticated_servers = false; ///< servers that dial this cluster become members without an operator
  bool read_replica = false;                  ///< read_replica or non_voting_server: a server without a vote
  int bootstrap_expect = 0; ///< bootstrap_expect if above 1: number of servers that elect a leader. Otherwise 0
  /// autopilot: written by the leader if nothing is set; nullopt: no such section.
  std::optional<state::autopilot_settings> autopilot;
  bool leave_on_terminate = false;     ///< SIGTERM: leave the cluster before the process ends
  bool skip_leave_on_interrupt = true; ///< SIGINT: do not
  bool rejoin_after_leave = false;     ///< return to the members of a cluster that this server has left
  std::vector<std::string> joins;      ///< start_join and retry_join: host or host:port (of ports.server), in order

  // Addresses
  std::string bind_addr = "0.0.0.0";                  ///< for peers
  std::string advertise_addr;                         ///< for peers to connect to; never empty or unspecified
  std::uint16_t server_port = 8300;                   ///< ports.server
  std::uint16_t serf_wan_port = 8302;                 ///< ports.serf_wan; 0: off; only shown
  std::vector<std::string> client_addrs{"127.0.0.1"}; ///< client_addr
  int http_port = 8500;                               ///< ports.http; -1: no HTTP
  std::vector<listen_address> http_listeners;  ///< client_addr or addresses.http, with ports.http; empty: no HTTP
  int https_port = -1;                         ///< ports.https; -1: no HTTPS
  std::vector<listen_address> https_listeners; ///< client_addr or addresses.https, with ports.https; empty: no HTTPS
  unix_socket_rights unix_sockets;             ///< unix_sockets: of those for clients

  acl_config acl;

  // Authentication of servers. The files can be read: tls::credentials::load
  tls::credential_settings peer_tls; ///< ca_file ... encrypt; includes datacenter and domain
  bool disable_coordinates = false;  ///< nothing is measured, and /v1/coordinate returns 401
  bool disable_keyring_file = false; ///< only encrypt of peer_tls is used
  /// limits.rpc_max_conns_per_client, for each source address of peers; 0: no limit.
  int rpc_max_conns_per_client = 100;
  duration rpc_handshake_timeout = std::chrono::seconds{5}; ///< limits.rpc_handshake_timeout

  // HTTPS for clients. The configuration is valid only if tls::https_credentials::load() can read
  // the files.
  tls::https_settings https;                                  ///< ca_file ... tls_cipher_suites
  duration https_handshake_timeout = std::chrono::seconds{5}; ///< limits.https_handshake_timeout

  // Consensus
  int raft_multiplier = 5; ///< performance.raft_multiplier, 1..10: docs/reference/configuration.md says what it scales
  duration rpc_hold_timeout = std::chrono::seconds{7};        ///< performance.rpc_hold_timeout: wait for a leader
  std::uint64_t raft_snapshot_threshold = 0;                  ///< entries between checkpoints; 0: by what one saves
  duration raft_snapshot_interval = std::chrono::seconds{30}; ///< when a checkpoint due after an interval is taken
  duration raft_older_checkpoint_age = std::chrono::hours{1}; ///< storage::generation_limits
  std::uint64_t raft_older_checkpoint_log_bytes = 64u << 20;  ///< likewise
  std::uint64_t raft_trailing_logs = 10240;                   ///< entries kept before a checkpoint for slow followers

  // Limits of clients
  std::uint64_t kv_max_value_size = 512 * 1024; ///< limits.kv_max_value_size, bytes
  std::uint64_t txn_max_req_len = 512 * 1024;   ///< limits.txn_max_req_len, bytes; the limit is the larger of both
  /// limits.http_max_bytes_in_flight: bytes buffered for all requests and answers; 0: no limit
  std::uint64_t http_max_bytes_in_flight = 512 * 1024 * 1024;
  /// Minimum for each of `http_threads`: memory for a value being put, and for the answer to its
  /// reader, in base64.
  static constexpr std::uint64_t bytes_in_flight_least = 64 * 1024 * 1024;
  std::uint64_t kv_changes_bytes =
      64 * 1024 * 1024; ///< limits.kv_changes_bytes: size of the kept key changes, for the change feed
  duration overload_delay =
      std::chrono::milliseconds{500};     ///< limits.overload_delay; 0: no request is rejected for overload
  std::uint64_t overload_requests = 1024; ///< limits.overload_requests
  int http_max_conns_per_client = 200;    ///< limits.http_max_conns_per_client, for each source address
  duration session_ttl_min = std::chrono::seconds{10};
  duration default_query_time = std::chrono::seconds{300}; ///< deadline of blocking queries without `wait`
  duration max_query_time = std::chrono::seconds{600};
  duration discovery_max_stale{0};
  bool consistent_by_default = false;                  ///< default_consistency is `consistent`
  std::map<std::string, std::string> response_headers; ///< http_config.response_headers
  std::vector<std::string> block_endpoints;            ///< http_config.block_endpoints: path prefixes answered with 403
  bool use_cache = true;                               ///< http_config.use_cache
  int http_threads = 0; ///< http_config.threads: number of HTTP threads; 0: as many as fit this machine
  std::vector<std::string> allow_write_http_from; ///< http_config.allow_write_http_from: CIDR; empty: all
  /// http_config.allowed_hosts: host names by which clients may call this server; nullopt: any
  std::optional<std::vector<std::string>> allowed_hosts;
  bool disable_http_unprintable_char_filter = false;
  bool ui = false;                      ///< the console is served
  std::string ui_content_path = "/ui/"; ///< its path; begins and ends with a slash

  // The agent
  std::vector<agent::service_definition> services; ///< service, services; of all sources
  std::vector<agent::check_definition> checks;     ///< check, checks
  bool enable_script_checks = false;               ///< checks that run programs, whatever defines them
  bool enable_local_script_checks = false;         ///< only those of the configuration
  std::int64_t check_output_max_size = 4096;       ///< bytes of a check's output that are kept
  /// CIDR: where HTTP checks may connect; nullopt: everywhere.
  std::optional<std::vector<std::string>> check_http_allow;
  duration check_update_interval = std::chrono::minutes{5}; ///< between catalog updates that only change output

  // Operation
  log::settings log;                   ///< log_level, log_json, log_file
  std::optional<audit_settings> audit; ///< audit; nullopt: there is no audit log
  std::string pid_file;
  duration prometheus_retention_time{0}; ///< telemetry.prometheus_retention_time; 0: no text format
  std::string metrics_prefix = "consul";
  bool old_metric_names = true; ///< telemetry.old_names: renamed metrics have their old names, too
};

struct parsed_command_line {
  node_config config;
  std::vector<std::string> warnings; ///< for the log, at warn
  /// Old names of keys; warn_of_old_name() logs each once (old_names.hpp)
  std::vector<const renamed_name*> old_names;
  boost::json::object settings; ///< all sources merged, as changed_keys() compares it
};

struct config_error {
  std::string text; ///< all errors (config_problems::shown); complete except for the leading `==> `
  int exit_code = 1;
  bool wrong_usage = false; ///< a flag was wrong: show `text` without `==> `, then the usage
};

/// @param args what follows `agent`: flags with one or two dashes, `-flag value` or `-flag=value`.
/// Reads the configuration files named there, and the certificates that these name,
/// and nothing else. `-h` is an error with exit code 0 and empty text.
std::variant<parsed_command_line, config_error> parse_agent_arguments(const std::vector<std::string>& args);

/// What `validate` checks: files or folders, as if each were given with -config-file.
/// @param format of all files, hcl or json; empty: by their names
std::variant<parsed_command_line, config_error> parse_config_files(const std::vector<std::string>& paths,
                                                                   const std::string& format = "");

/// A flag of the agent, for help.
struct flag_of_agent {
  std::string_view name, help;
  bool takes_value;
};
std::vector<flag_of_agent> flags_of_agent();

} // namespace belay::actors
