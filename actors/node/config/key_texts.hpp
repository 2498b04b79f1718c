#pragma once
// The texts of docs/reference/configuration.md: an entry for each configuration key of keys.cpp.
//
//   KEY [KEY...] [= DEFAULT]   lines of keys without indentation begin an entry
//     TEXT                     Markdown without `|`; the lines are joined with blanks
//
// For a key with an effect: what it does, its unit and its range. For another key: why it has none.
// Consul 1.8 is mentioned only where it differs. A test compares the keys with those of keys.cpp.

#include <string_view>

namespace belay::actors {

inline constexpr std::string_view key_texts = R"texts(
server = false
  True: a server.
  False: a client agent, which runs its own services and checks, and forwards everything else to
  the servers in `retry_join`.
bootstrap = false
  The only server of a new cluster elects itself; same as `bootstrap_expect` 1.
bootstrap_expect = 0
  Number of servers that must discover each other before the first election; 0 or more.
  Must be equal on all servers. Ignored once the cluster exists.
allow_unauthenticated_servers = false
  Accept every server that connects with the right datacenter: any process that reaches the peer
  port can then become a voter.
  Otherwise only these are accepted: a server that replaces a lost member with its name and address,
  one added by `belay operator raft add-peer`, and one that has authenticated (certificates or
  `encrypt`). *Belay only.*
data_dir = none
  Folder of all data.
  Required unless `-dev`, which keeps the data in memory (`/dev/shm`) until the server stops.
  Created if missing.
node_name = the host name
  Name of this node. Must be unique in the cluster.
node_id = a random UUID
  ID of this node, stored in `data_dir`.
node_meta = none
  Shown with the node in the catalog. At most 64 pairs.
  Keys: at most 128 letters, digits, `-` and `_`, not beginning with `consul-`.
  Values: at most 512 bytes.
datacenter = `dc1`
  Name of the datacenter: letters, digits, `-` and `_`. Must be equal on all servers.
bind_addr = `0.0.0.0`; `127.0.0.1` with `-dev`
  Address for peers.
  Here and in every other address, a template is replaced by an address of the machine:
  `{{ GetPrivateIP }}`, `{{ GetInterfaceIP "eth0" }}`.
  Other templates of Consul are rejected: write the address.
advertise_addr = `bind_addr`
  Address at which peers reach this node.
  If `bind_addr` covers all addresses, it is the only private IPv4 address of the machine.
  Without one, a single server stays on 127.0.0.1 with a warning, and any other node does not start.
client_addr = `127.0.0.1`
  Addresses for HTTP and HTTPS, separated by blanks. `unix://PATH` is a Unix socket.
start_join = none
  As `retry_join`.
retry_join = none
  Peers, as HOST or HOST:PORT with their `ports.server`. May include the server itself.
  Consul's `provider=` of a cloud is rejected: write addresses or host names.
retry_interval
  A server retries an unreachable peer after 20 ms, then at longer intervals of up to half a
  second.
retry_max
  Peers are retried without end, as with 0 or less.
log_level = `INFO`; `DEBUG` with `-dev`
  Lowest level that is logged: `TRACE`, `DEBUG`, `INFO`, `WARN` or `ERR`.
log_json = false
  Write each line of the log as a JSON object.
log_file = none
  Also write the log to this file.
pid_file = none
  File that holds the process ID while the server runs.
session_ttl_min = `10s`
  Smallest TTL that a session may request.
default_query_time = `300s`
  How long a blocking query without `?wait` waits.
max_query_time = `600s`
  Longest time that a blocking query waits.
discovery_max_stale = `0s`
  Above 0: catalog and health reads without a mode are answered as `?stale` if this server has heard
  from the leader within this time.
default_consistency = `default`
  Mode of reads that name none (`?stale`, `?consistent`, `?leader`).
  `default`: the leader answers while its clock shows that no other server can lead.
  `consistent`: a majority confirms first, and no clock is trusted; for machines whose hypervisor
  pauses them. `discovery_max_stale` takes precedence. *Belay only.*
raft_snapshot_threshold = none
  Number of log entries after which a checkpoint is due; one is also due after each
  `raft_snapshot_interval` with at least one entry.
  Without it, or with 0 or less: after 32 MiB of log in memory, when a restart would take a second
  longer, or after each interval with 8 MiB of log. Consul: 16384.
raft_snapshot_interval = `30s`
  See `raft_snapshot_threshold`. 0 means the default.
raft_trailing_logs = 10240
  Number of entries that stay in the log after a checkpoint, for followers that are behind; one that
  is further behind receives the whole state. 0 or less means the default.
  The only member of a cluster keeps none.
raft_older_checkpoint_age = `1h`
  A copy of an earlier checkpoint is kept, with the log after it, in case the newest one is damaged.
  It is replaced at this age. 0 means the default. *Belay only.*
raft_older_checkpoint_log_bytes = 67108864 (64 MiB)
  The copy is also replaced when this many bytes of log follow it, but not before ten times its own
  size has been written. The disk needs space for that log and for one more copy of the state.
  0 means the default. *Belay only.*
leave_on_terminate = false; true with `server = false`
  SIGTERM makes this node leave its cluster before it stops
  ([operations.md](../operate/operations.md#a-server-leaves)).
skip_leave_on_interrupt = true; false with `server = false`
  False: SIGINT makes this node leave, too.
disable_http_unprintable_char_filter = false
  Accept paths with unprintable characters; otherwise they are rejected with 400.
enable_script_checks = false
  Checks registered over HTTP may run programs, too: any client that reaches the port can then run
  any program.
ui = false; true with `-dev`
  Serve the [console](console.md), and redirect `/` to it.
ui_content_path = `/ui/`
  Path of the console: letters, digits, `-`, `_` and `/`.
addresses.http = `client_addr`
  Addresses for HTTP, in the form of `client_addr`.
addresses.https = `client_addr`
  Addresses for HTTPS, in the form of `client_addr`.
addresses.dns
  There is no DNS.
addresses.grpc
  There is no service mesh.
ports.http = 8500
  Port for HTTP; 0 or less: none.
ports.server = 8300
  Port for peers.
ports.serf_lan
  There is no gossip; nothing listens there.
ports.serf_wan = 8302
  Shown as `wan_join_port` of the members; nothing listens there. -1: members and keyring responses
  name no WAN pool.
ports.https = -1
  Port for HTTPS, with `cert_file` and `key_file`; 0 or less: none ([security.md](../operate/security.md)).
ports.dns
  There is no DNS.
ports.grpc ports.proxy_min_port ports.proxy_max_port ports.sidecar_min_port ports.sidecar_max_port
ports.expose_min_port ports.expose_max_port
  There is no service mesh.
limits.kv_max_value_size = 524288
  Largest value in bytes, from 1 to 16 MiB. Consul accepts more, but here a larger one would delay
  heartbeats.
limits.txn_max_req_len = 524288
  Largest body of a transaction in bytes, from 1 to 16 MiB.
  If `limits.kv_max_value_size` is larger, that limit applies.
limits.http_max_conns_per_client = 200
  Maximum connections from one address; 0 or less: no limit.
limits.http_max_bytes_in_flight = 536870912 (512 MiB)
  Bytes, for all clients together, of incomplete or unanswered requests and of responses that
  clients have not read; at least 67108864, or 0 for no limit.
  Above it, the connection with the most bytes is closed or, if its request was not complete,
  answered with 503, and a WARN names it.
  A response of more than 64 MiB counts 32 bytes a row. *Belay only.*
limits.kv_changes_bytes = 67108864 (64 MiB)
  Bytes of key changes that are kept for the [change feed](changes.md#the-window); at least 65536.
  *Belay only.*
limits.overload_delay = `500ms`
  If the minimum delay of writes or reads stays above this for half a second, the server rejects
  requests ([operations.md](../operate/operations.md#more-requests-than-it-can-answer)).
  `0s`: off. *Belay only.*
limits.overload_requests = 1024
  With at most this many pending requests nothing is rejected, however long it takes; at least 1.
  Each 64 KiB of a request count as another one. *Belay only.*
limits.rpc_rate limits.rpc_max_burst
  Consul limits a client agent's requests to servers; see `limits.overload_delay` instead.
limits.rpc_max_conns_per_client = 100
  Maximum connections from one address to `ports.server`; 0 or less: no limit for one address.
  The limit for all addresses together is 512.
limits.rpc_handshake_timeout = `5s`
  Time in which a connection to `ports.server` must complete its handshake; `0s`: a day.
limits.https_handshake_timeout = `5s`
  Time in which a connection to `ports.https` must complete its handshake; `0s`: a day.
performance.raft_multiplier = 5; 1 with `-dev`
  Scales how long a follower waits without hearing the leader before it starts an election; 1 to 10.
  In ticks of 25 ms it draws a time from 7 + 3n to twice that, less one: 250 to 475 ms at 1, 550 to
  1,075 ms at 5, 925 to 1,825 ms at 10. The leader's lease is a little shorter than the shortest.
  Consul: 1 s and 0.5 s, times n.
performance.rpc_hold_timeout = `7s`
  How long a request waits for a leader if there is none.
performance.leave_drain_time
  When a server stops, pending requests have 5 s, whether it leaves or not.
http_config.response_headers = none
  Headers that are added to every response.
http_config.block_endpoints = none
  Path prefixes that are rejected with 403.
http_config.allow_write_http_from = all
  Networks (CIDR) from which requests other than reads are accepted.
http_config.allowed_hosts = see text
  Accepted names in the Host header, in addition to `localhost`, `consul`, `consul.service.consul`,
  the node name and IP addresses. `.example.com`: all names under it; `*`: any.
  The default is any name if HTTP listens on an address other than loopback, else none.
  Others get 403 (DNS rebinding). *Belay only.*
http_config.use_cache = true
  `?cached` has an effect ([operations.md](../operate/operations.md#client-agents)).
http_config.threads = half the number of cores, from 1 to 4
  Number of threads with which a server serves clients, 1 to 16; each has its share of the
  connections. A client agent has one. *Belay only.*
telemetry.prometheus_retention_time = `0s`
  Above 0: `/v1/agent/metrics?format=prometheus` works. The length does not matter.
telemetry.disable_hostname
  As true: names of metrics never contain the host name.
telemetry.metrics_prefix = `consul`
  Prefix of the name of each metric ([metrics.md](metrics.md)).
telemetry.old_names = true
  Metrics that 0.3.0 has renamed are also shown by their old names
  ([upgrading.md](../operate/upgrading.md#names-that-030-has-renamed)). Ends with 0.4.0.
  *Belay only.*
telemetry.circonus_api_app telemetry.circonus_api_token telemetry.circonus_api_url
telemetry.circonus_broker_id telemetry.circonus_broker_select_tag
telemetry.circonus_check_display_name telemetry.circonus_check_force_metric_activation
telemetry.circonus_check_id telemetry.circonus_check_instance_id
telemetry.circonus_check_search_tag
telemetry.circonus_check_tags telemetry.circonus_submission_interval
telemetry.circonus_submission_url
telemetry.dogstatsd_addr telemetry.dogstatsd_tags telemetry.statsd_address
telemetry.statsite_address
  Metrics are served over HTTP only.
telemetry.disable_compat_1.9
  There are no older names to disable.
telemetry.filter_default
telemetry.prefix_filter
  All metrics are present.
acl.enabled = false
  Requests need tokens ([security.md](../operate/security.md)).
acl.default_policy = `allow`
  What a token may do where none of its rules applies: `allow` or `deny`.
acl.down_policy
  `allow`, `deny`, `extend-cache` or `async-cache`.
  Every server has the policies in its tables, so they are always available.
acl.enable_key_list_policy = false
  Listing keys needs the permission `list`.
acl.enable_token_persistence = false
  Tokens set by `PUT /v1/agent/token` are stored in `acl-tokens.json` in `data_dir`, and take
  precedence over those of the configuration.
acl.disabled_ttl acl.policy_ttl acl.role_ttl acl.token_ttl
  There is no cache: changes take effect at once.
acl.enable_token_replication enable_acl_replication acl.tokens.replication
  There is one datacenter.
acl.msp_disable_bootstrap acl.tokens.managed_service_provider
  A key of Consul Enterprise.
acl.tokens.master = none
  Secret of a token with all permissions, which the leader creates.
acl.tokens.initial_management = none
  As `acl.tokens.master`.
acl.tokens.default = none
  Secret that is used for requests without a token.
acl.tokens.agent = none
  Never shown, and not needed: the servers' own writes need no permission.
acl.tokens.agent_master = none
  Secret that permits the routes of this agent, even without a leader: `agent:write` of this node,
  and `node:read` of all nodes.
acl.tokens.agent_recovery = none
  As `acl.tokens.agent_master`.
acl_datacenter = none
  If set, ACLs are enabled unless `acl.enabled` is false.
acl_agent_master_token = none
  As `acl.tokens.agent_master`, which takes precedence.
acl_agent_token = none
  As `acl.tokens.agent`, which takes precedence.
acl_default_policy = `allow`
  As `acl.default_policy`, which takes precedence.
acl_down_policy
  As `acl.down_policy`.
acl_enable_key_list_policy = false
  As `acl.enable_key_list_policy`, which takes precedence.
acl_enforce_version_8
  Always true.
acl_master_token = none
  As `acl.tokens.master`, which takes precedence.
acl_replication_token
  As `acl.tokens.replication`.
acl_token = none
  As `acl.tokens.default`, which takes precedence.
acl_ttl
  As `acl.token_ttl`.
acl_disabled_ttl
  As `acl.disabled_ttl`.
encrypt = none
  A secret shared by all servers: 16, 24 or 32 bytes in base64 (`belay keygen`).
  Peers prove that they have it, and traffic between them is encrypted.
  Every process that has it counts as a server ([security.md](../operate/security.md)).
encrypt_verify_incoming = true
  False: accept peers without the key, too; for the change from an open port to `encrypt`.
encrypt_verify_outgoing = true
  False: connect to peers without the key; for the same change.
verify_incoming = false
  Peers and HTTPS clients must present a certificate that `ca_file` signed, even with `encrypt`.
verify_incoming_https = false
  As `verify_incoming`, for HTTPS clients only.
verify_incoming_rpc = false
  As `verify_incoming`, for peers only.
verify_outgoing = false
  The server presents its certificate when it connects to peers, and requires one that `ca_file`
  signed.
verify_server_hostname = false
  As `verify_outgoing`; peer certificates must also name `server.DATACENTER.DOMAIN`.
cert_file = none
  This server's certificate for peers and HTTPS in PEM, followed by the certificates between it and
  the CA (`belay tls cert create -server`).
key_file = none
  Private key of `cert_file` in PEM, without a pass phrase.
ca_file = none
  Certificates, in PEM, of the CAs that sign those of peers and clients (`belay tls ca create`).
ca_path = none
  Folder of such files, in addition to `ca_file` or instead of it.
server_name
  Certificates are checked for the name in `verify_server_hostname`.
tls_cipher_suites = those with ECDHE and AES-GCM or ChaCha20
  Suites of TLS 1.2 for HTTPS, with Consul's names, separated by commas: the ten with ECDHE and AES
  that Consul 1.8.7 supports.
tls_min_version = `tls12`
  For HTTPS: `tls10`, `tls11` or `tls12`; versions below TLS 1.2 are never used.
tls_prefer_server_cipher_suites = false
  For HTTPS with TLS 1.2: the order of `tls_cipher_suites` decides, not the client's.
auto_encrypt.tls auto_encrypt.allow_tls
  Rejected if true: servers do not sign certificates for client agents.
auto_encrypt.dns_san auto_encrypt.ip_san
  Servers do not sign certificates for client agents.
auto_config.enabled
  Rejected if true: servers do not configure client agents.
auto_config.authorization auto_config.dns_sans auto_config.intro_token
auto_config.intro_token_file
auto_config.ip_sans auto_config.server_addresses
  Servers do not configure client agents.
autopilot.cleanup_dead_servers = true
  The leader removes dead servers.
  Settings made with `/v1/operator/autopilot/configuration` take precedence over this and the four
  keys below ([operations.md](../operate/operations.md#autopilot)).
autopilot.last_contact_threshold = `200ms`
  A server that the leader has not heard from for longer is unhealthy.
autopilot.max_trailing_logs = 250
  A server whose log is behind by more entries is unhealthy.
autopilot.min_quorum = 0
  Minimum number of voters that remain when servers are removed or become replicas.
autopilot.server_stabilization_time = `10s`
  How long a new server must be healthy before it becomes a voter.
autopilot.disable_upgrade_migration autopilot.redundancy_zone_tag autopilot.upgrade_version_tag
  A key of Consul Enterprise.
advertise_addr_ipv4 advertise_addr_ipv6
  A node has one address for peers: `advertise_addr`.
advertise_addr_wan advertise_addr_wan_ipv4 advertise_addr_wan_ipv6
  There is one datacenter.
ae_interval check_deregister_interval_min check_reap_interval
  Internal to Consul.
alt_domain
  There is no DNS.
audit.enabled = false
  Write a line of JSON for each request ([operations.md](../operate/operations.md#the-audit-log)).
  Only Consul Enterprise has the keys of `audit`.
audit.sink.*.type = `file`
  Only `file`. Exactly one sink, with any name, is required if `audit.enabled` is true.
audit.sink.*.format = `json`
  Only `json`.
audit.sink.*.path = none
  Path of the file. Required.
audit.sink.*.mode = `0600`
  Permissions of the files, octal.
audit.sink.*.delivery_guarantee = `best-effort`
  What happens while the file cannot be written. `best-effort`: lines are dropped and counted.
  `enforced`: requests are rejected. Consul has only `best-effort`.
audit.sink.*.rotate_bytes = 0
  Size in bytes at which a new file starts; 0: no limit.
audit.sink.*.rotate_duration = `0s`
  Age at which a new file starts; `0s`: no limit.
audit.sink.*.rotate_max_files = 0
  Number of older files that are kept; 0: all.
cache.entry_fetch_max_burst cache.entry_fetch_rate
  Fetches of a client agent's cache have no limit.
check = none
  One check, or a list, in Consul's form.
  Docker checks (`docker_container_id`) are rejected: write a script check that calls `docker
  exec`.
checks = none
  As `check`.
check_http_allow = all
  Networks (CIDR) to which HTTP checks may connect.
  Redirects and resolved addresses are checked each time. An empty list allows none.
  *Belay only.*
check_output_max_size = 4096
  Maximum bytes of a check's output that are kept; at least 1.
check_update_interval = `5m`
  How long a change of a check's output alone may wait before it is written to the catalog.
  Changes of status never wait.
config_entries connect.ca_config connect.ca_provider connect.enabled
connect.enable_mesh_gateway_wan_federation connect.test_ca_leaf_root_change_spread
  There is no service mesh.
consul.coordinate.update_batch_size consul.coordinate.update_max_batches
consul.coordinate.update_period consul.server.health_interval
  Internal to Consul.
consul.raft.election_timeout consul.raft.heartbeat_timeout consul.raft.leader_lease_timeout
  Use `performance.raft_multiplier`.
disable_anonymous_signature disable_update_check
  No server checks for updates.
disable_coordinates = false
  True: this server measures no round trips, does not sort by `?near`, and answers `/v1/coordinate`
  with 401.
disable_host_node_id
  Node IDs are always random.
disable_keyring_file = false
  False: keys are stored in `serf/local.keyring` in `data_dir`, which takes precedence over
  `encrypt`.
disable_remote_exec
  There is no remote execution.
discard_check_output
  Output is kept, up to `check_output_max_size`.
dns_config.a_record_limit dns_config.allow_stale dns_config.cache_max_age
dns_config.disable_compression dns_config.enable_additional_node_meta_txt
dns_config.enable_truncate
dns_config.max_stale dns_config.node_ttl dns_config.only_passing dns_config.prefer_namespace
dns_config.recursor_timeout dns_config.service_ttl dns_config.soa.expire dns_config.soa.min_ttl
dns_config.soa.refresh dns_config.soa.retry dns_config.udp_answer_limit dns_config.use_cache
recursors
  There is no DNS.
domain = `consul`
  Domain part of server certificate names. There is no DNS.
enable_agent_tls_for_checks
  Checks do not present the agent's certificate.
enable_central_service_config
  There is no service mesh.
enable_debug
  There are no profiling routes.
enable_local_script_checks = false
  Checks in configuration files may run programs.
enable_syslog syslog_facility
  The log is not sent to syslog.
gossip_lan.gossip_interval gossip_lan.gossip_nodes gossip_lan.probe_interval
gossip_lan.probe_timeout
gossip_lan.retransmit_mult gossip_lan.suspicion_mult
gossip_wan.gossip_interval gossip_wan.gossip_nodes gossip_wan.probe_interval
gossip_wan.probe_timeout
gossip_wan.retransmit_mult gossip_wan.suspicion_mult
  There is no gossip.
license_path
  There is no license.
log_rotate_bytes log_rotate_duration log_rotate_max_files
  Rename the file and send SIGHUP.
non_voting_server = false
  The older name of `read_replica`.
read_replica = false
  A server without a vote: it receives the log, answers reads itself and forwards writes
  ([operations.md](../operate/operations.md#read-replicas)).
primary_datacenter primary_gateways primary_gateways_interval
  There is one datacenter.
protocol raft_protocol
  There is one protocol.
reconnect_timeout
  There is no gossip.
reconnect_timeout_wan retry_interval_wan retry_join_wan retry_max_wan
  There is one datacenter.
rejoin_after_leave = false
  At its next start, a server that has left its cluster contacts the members that it knows.
  Without this key and `retry_join` it waits for `PUT /v1/agent/join`.
revision version version_prerelease
  Internal to Consul.
segment segments
  Rejected if not empty: there is one network.
segment_limit segment_name_limit
  There is one network.
serf_lan serf_lan_allowed_cidrs
serf_wan serf_wan_allowed_cidrs
  There is no gossip.
service = none
  One service, or a list, in Consul's form.
services = none
  As `service`.
snapshot_agent
  `belay snapshot agent` is a separate program ([cli.md](cli.md)).
start_join_wan
  There is one datacenter.
sync_coordinate_interval_min sync_coordinate_rate_target
  Internal to Consul.
translate_wan_addrs
  There is one datacenter.
ui_dir
  The console is part of the program.
unix_sockets.user = the server's user
  Owner of Unix sockets for clients, by name or ID.
unix_sockets.group = the server's group
  Group of these sockets, by name or ID.
unix_sockets.mode = by the umask
  Permissions of these sockets, octal, such as `0770`.
watches
  Use `belay watch`.
)texts";

} // namespace belay::actors
