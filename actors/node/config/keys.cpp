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

// Consul 1.8's keys: sections first, then their members; others are rejected. The texts are those
// of docs/reference/configuration.md: the default and effect of an effective key, or why it has no effect.
constexpr config_key keys[] = {
    {"server", boolean, effective,
     "false: a client agent, which runs its own services and checks, and forwards everything else to the servers of "
     "`retry_join`"},
    {"bootstrap", boolean, effective,
     "false. The only server of a new cluster elects itself; same as `bootstrap_expect` 1"},
    {"bootstrap_expect", integer, effective,
     "0. Number of servers that must discover each other before the first election. Must be equal on all servers. "
     "Ignored once the cluster exists"},
    {"admit_unverified_servers", boolean, effective,
     "false. Accept every server that connects with the right datacenter, without an operator: any process that "
     "reaches the peer port can then become a voter. Otherwise two kinds of servers are accepted: one that replaces "
     "a lost member with its name and address, and those added by `belay operator raft add-peer`. Servers that have "
     "authenticated, by certificates or `encrypt`, are always accepted. Not a key of Consul"},
    {"data_dir", text, effective,
     "Folder of all data; required unless -dev, which keeps the data in memory (`/dev/shm`) until the server stops. "
     "Created if missing"},
    {"node_name", text, effective, "the host name. Must be unique in the cluster"},
    {"node_id", text, effective, "a random UUID, stored in `data_dir`"},
    {"node_meta", text_map, effective,
     "none. Shown with the node in the catalog. At most 64 pairs. Keys: at most 128 letters, digits, - and _, not "
     "beginning with `consul-`. Values: at most 512 bytes",
     true},
    {"datacenter", text, effective, "`dc1`. Letters, digits, - and _; must be equal on all servers"},
    {"bind_addr", text, effective,
     "`0.0.0.0`; `127.0.0.1` with -dev. The address for peers. Here and in every other address, a template stands "
     "for the machine's own: `{{ GetPrivateIP }}`, `{{ GetInterfaceIP \"eth0\" }}`. Other templates are rejected: "
     "write the address"},
    {"advertise_addr", text, effective,
     "The address that peers get: `bind_addr` or, if that covers all addresses, the only private IPv4 address of the "
     "machine. Without one, a single server (`-dev`, or `bootstrap` without `retry_join`) stays on 127.0.0.1 with a "
     "warning, and any other node does not start"},
    {"client_addr", text, effective, "`127.0.0.1`. Addresses for HTTP, separated by blanks; `unix://PATH` is a socket"},
    {"start_join", list, effective, "none. As `retry_join`"},
    {"retry_join", list, effective,
     "none. Peers, as host or host:port of their `ports.server`; may include the server itself. `provider=` of a "
     "cloud is rejected, because the server would wait for peers for ever; write the addresses or host names of the "
     "servers"},
    {"retry_interval", duration, none,
     "unused: a server retries an unreachable peer after 20 ms, then at longer intervals, up to half a second"},
    {"retry_max", integer, none, "peers are retried without end, as with 0 or less"},
    {"log_level", text, effective, "`INFO`; `DEBUG` with -dev. `TRACE`, `DEBUG`, `INFO`, `WARN` or `ERR`", true},
    {"log_json", boolean, effective, "false. Each line of the log is a JSON object", true},
    {"log_file", text, effective, "none. The log is also written to this file", true},
    {"pid_file", text, effective, "none. Holds the process id while the server runs"},
    {"session_ttl_min", duration, effective, "`10s`. The smallest TTL that a session may request"},
    {"default_query_time", duration, effective, "`300s`. How long a blocking query without `?wait` waits"},
    {"max_query_time", duration, effective, "`600s`. Upper limit of the wait of a blocking query"},
    {"discovery_max_stale", duration, effective,
     "`0s`: off. Catalog and health reads that name no consistency mode are answered as `?stale`, if this server has "
     "heard its leader within that time"},
    {"default_consistency", text, effective,
     "`default`. The mode of reads that name none (`?stale`, `?consistent`, `?leader`). `default`: the leader "
     "answers while its clock shows that no other server can lead. `consistent`: a majority confirms first, as with "
     "`?consistent`, and no clock is trusted; for machines whose hypervisor pauses them. `discovery_max_stale` takes "
     "precedence. Not a key of Consul"},
    {"raft_snapshot_threshold", integer, effective,
     "none, also if 0 or less: a checkpoint is due after 32 MiB of log in memory, or when a restart would take a "
     "second longer without it, or after each interval with 8 MiB of log. A number: a checkpoint is due after this "
     "many log entries, and after each interval with at least one entry"},
    {"raft_snapshot_interval", duration, effective, "`30s`, also if 0. See `raft_snapshot_threshold`"},
    {"raft_trailing_logs", integer, effective,
     "10240, also if 0 or less. Number of entries that stay in the log after a checkpoint, for followers that are a "
     "little behind; a follower that is further behind gets the whole state. None while a server is the only member "
     "of its cluster"},
    {"raft_older_checkpoint_age", duration, effective,
     "`1h`, also if 0. A server keeps a copy of an earlier checkpoint, and the log after it, in case the newest one "
     "is damaged. It replaces the copy when the copy reaches this age"},
    {"raft_older_checkpoint_log_bytes", integer, effective,
     "1073741824 (1 GiB), also if 0. The copy is also replaced when this many bytes of log follow it; the disk needs "
     "space for them and for one more copy of the state. If copies would add more than a tenth to the bytes written, "
     "they are made less often"},
    {"leave_on_terminate", boolean, effective,
     "false; true with `server = false`. SIGTERM makes this server leave its cluster before it stops, as `PUT "
     "/v1/agent/leave` does. It stops in any case, with 0 if it has left and with 1 if not. "
     "[operations.md](../operate/operations.md#a-server-leaves)"},
    {"skip_leave_on_interrupt", boolean, effective,
     "true; false with `server = false`. If false, SIGINT makes this node leave, too"},
    {"disable_http_unprintable_char_filter", boolean, effective,
     "false. Accept paths with unprintable characters; otherwise they are rejected with 400"},
    {"enable_script_checks", boolean, effective,
     "false. Checks registered over HTTP may run programs, too: any client that reaches the port can run anything"},
    {"ui", boolean, effective, "false; true with `-dev`. Serve the [console](console.md), and redirect `/` to it"},
    {"ui_content_path", text, effective, "`/ui/`. Path of the console: letters, digits, `-`, `_` and `/`"},

    {"addresses", section, effective},
    {"addresses.http", text, effective, "`client_addr`. Addresses for HTTP instead of it"},
    {"addresses.https", text, effective, "`client_addr`. Addresses for HTTPS instead of it"},
    {"addresses.dns", text, none},
    {"addresses.grpc", text, none},

    {"ports", section, effective},
    {"ports.http", integer, effective, "8500. For HTTP; 0 or less: none"},
    {"ports.server", integer, effective, "8300. For peers"},
    {"ports.serf_lan", integer, silent, "there is no gossip; nothing listens there"},
    {"ports.serf_wan", integer, effective,
     "8302. Only shown, as `wan_join_port` of the members; nothing listens there. -1: members and keyring responses "
     "name no WAN pool"},
    {"ports.https", integer, effective,
     "-1. For HTTPS, with `cert_file` and `key_file`; 0 or less: none. [security.md](../operate/security.md)"},
    {"ports.dns", integer, none},
    {"ports.grpc", integer, none},
    {"ports.proxy_min_port", integer, none},
    {"ports.proxy_max_port", integer, none},
    {"ports.sidecar_min_port", integer, none},
    {"ports.sidecar_max_port", integer, none},
    {"ports.expose_min_port", integer, none},
    {"ports.expose_max_port", integer, none},

    {"limits", section, effective},
    {"limits.kv_max_value_size", integer, effective,
     "524288. Maximum bytes of a value. Above 16 MiB the key is rejected, although Consul accepts it: a value is one "
     "entry of the log, and a larger one would delay heartbeats to followers until they start an election"},
    {"limits.txn_max_req_len", integer, effective,
     "524288. Maximum bytes of the body of a transaction, up to 16 MiB; if `limits.kv_max_value_size` is larger, "
     "that limit applies"},
    {"limits.http_max_conns_per_client", integer, effective,
     "200. Maximum connections from one address; 0 or less: no limit", true},
    {"limits.http_max_bytes_in_flight", integer, effective,
     "536870912; at least 67108864, or 0: no limit. Bytes, for all clients together, of incomplete or unanswered "
     "requests and of responses that clients have not read. Above the limit, the connection with the most bytes is "
     "closed or, if its request was not complete, answered with 503, and a WARN names it. A response of more than 64 "
     "MiB "
     "is sent while it is rendered and counts 32 bytes a row"},
    {"limits.kv_changes_bytes", integer, effective,
     "67108864; at least 65536. Bytes of key changes that are kept for clients that follow them and reconnect; each "
     "change counts its rows before and after. Not a key of Consul"},
    {"limits.overload_delay", duration, effective,
     "`500ms`; `0s`: off. Load-shedding target. If the minimum queueing delay of writes or reads stays above this "
     "for half a second, the server is overloaded: it rejects writes until the delay falls, and reads only if "
     "rejecting all writes is not enough. It never rejects renewals and ends of sessions, releases of locks, "
     "deregistrations, TTL updates of checks and requests of operators. A rejected request gets status 500, on which "
     "Consul's clients retry. Not a key of Consul"},
    {"limits.overload_requests", integer, effective,
     "1024; at least 1. With at most this many pending requests nothing is rejected, however long it takes; each 64 "
     "KiB of a request count as another one. Not a key of Consul"},
    {"limits.rpc_rate", integer, none},
    {"limits.rpc_max_burst", integer, none},
    {"limits.rpc_max_conns_per_client", integer, effective,
     "100. Maximum connections of peers from one address to `ports.server`; 0 or less: no limit for one address. The "
     "limit for all addresses is 512",
     true},
    {"limits.rpc_handshake_timeout", duration, effective,
     "`5s`. Time within which a connection to `ports.server` must have introduced itself; `0s`: a day"},
    {"limits.https_handshake_timeout", duration, effective,
     "`5s`. Time within which a connection to `ports.https` must have finished its handshake; `0s`: a day"},

    {"performance", section, effective},
    {"performance.raft_multiplier", integer, effective,
     "5; 1 with -dev. 1 to 10. Scales how long a follower waits without hearing the leader before it campaigns. In "
     "ticks of 25 ms it draws a time from 7 + 3n to twice that, less one: at 1 from 250 to 475 ms, at 5 from 550 to "
     "1,075 ms, at 10 from 925 to 1,825 ms. The leader's lease, with which it answers default reads alone, is a "
     "little shorter than the shortest of these times. Consul's times are 1 s and 0.5 s times n"},
    {"performance.rpc_hold_timeout", duration, effective,
     "`7s`. How long a request waits for a leader when there is none"},
    {"performance.leave_drain_time", duration, none,
     "pending requests have 5 s when a server stops, whether it leaves or not"},

    {"http_config", section, effective},
    {"http_config.response_headers", text_map, effective, "none. Headers added to every response"},
    {"http_config.block_endpoints", list, effective, "none. Path prefixes that are rejected with 403"},
    {"http_config.allow_write_http_from", list, effective,
     "all. Networks (CIDR) that may send requests other than reads"},
    {"http_config.allowed_hosts", list, effective,
     "any if HTTP listens on other than loopback addresses, else none. Names in the Host header that are accepted in "
     "addition to `localhost`, `consul`, `consul.service.consul`, the node name and IP addresses; `.example.com`: "
     "all names under it; `*`: any. Others are rejected with 403, because foreign web pages use them to reach a "
     "server on the loopback (DNS rebinding)"},
    {"http_config.use_cache", boolean, effective,
     "true. `?cached` has an effect: a client agent caches responses, and a server says in `X-Cache` whether it gave "
     "the same response before"},
    {"http_config.fronts", integer, effective,
     "half the number of cores, from 1 to 4. 1 to 16. Threads of a server that serve clients; each has its share of "
     "the connections. A client agent has one"},

    {"telemetry", section, effective},
    {"telemetry.prometheus_retention_time", duration, effective,
     "`0s`. Above 0: `/v1/agent/metrics?format=prometheus` works. The length does not matter: counters count from "
     "the start of the process"},
    {"telemetry.disable_hostname", boolean, as_if_true, "as true: names of metrics never contain the host name"},
    {"telemetry.metrics_prefix", text, effective,
     "`consul`. Prefix of the name of each metric: [metrics.md](metrics.md)"},
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
    {"telemetry.filter_default", boolean, silent, "all metrics are present"},
    {"telemetry.prefix_filter", list, none},
    {"telemetry.statsd_address", text, none},
    {"telemetry.statsite_address", text, none},

    // Protection: enabling it is rejected (refused_protection in checks.hpp), the rest is ignored.
    {"acl", section, effective},
    {"acl.enabled", boolean, effective, "false. Requests need tokens: [security.md](../operate/security.md)"},
    {"acl.default_policy", text, effective,
     "`allow`. Permission of a token where none of its rules applies: `allow` or `deny`"},
    {"acl.down_policy", text, none,
     "`allow`, `deny`, `extend-cache` or `async-cache`: every server has the policies in its tables, so they are "
     "always available"},
    {"acl.enable_key_list_policy", boolean, effective, "false. Listing keys requires the permission `list`"},
    {"acl.enable_token_persistence", boolean, effective,
     "false. Tokens set by `PUT /v1/agent/token` are stored in `acl-tokens.json` in `data_dir`, and take precedence "
     "over those of the configuration"},
    {"acl.disabled_ttl", text, none, "no cache: changes take effect at once"},
    {"acl.enable_token_replication", boolean, none},
    {"acl.msp_disable_bootstrap", boolean, none},
    {"acl.policy_ttl", duration, none, "no cache: changes take effect at once"},
    {"acl.role_ttl", duration, none, "no cache: changes take effect at once"},
    {"acl.token_ttl", duration, none, "no cache: changes take effect at once"},
    {"acl.tokens", section, effective},
    {"acl.tokens.master", text, effective, "none. The leader creates it as a token with all permissions"},
    {"acl.tokens.initial_management", text, effective, "as `acl.tokens.master`"},
    {"acl.tokens.default", text, effective, "none. Used for requests without a token", true},
    {"acl.tokens.agent", text, effective,
     "none. Never shown, and not needed: the servers' own writes need no permission", true},
    {"acl.tokens.agent_master", text, effective,
     "none. Permits the routes of this agent, also without a leader: `agent` write, and `node` read of all nodes",
     true},
    {"acl.tokens.agent_recovery", text, effective, "as `acl.tokens.agent_master`", true},
    {"acl.tokens.replication", text, none, "there is one datacenter"},
    {"acl.tokens.managed_service_provider", opaque, none},
    {"acl_datacenter", text, effective, "none. If set, ACLs are enabled unless `acl.enabled` says otherwise"},
    {"acl_agent_master_token", text, effective, "as `acl.tokens.agent_master`, which takes precedence", true},
    {"acl_agent_token", text, effective, "as `acl.tokens.agent`, which takes precedence", true},
    {"acl_default_policy", text, effective, "as `acl.default_policy`, which takes precedence"},
    {"acl_down_policy", text, none, "as `acl.down_policy`"},
    {"acl_enable_key_list_policy", boolean, effective, "as `acl.enable_key_list_policy`, which takes precedence"},
    {"acl_enforce_version_8", boolean, silent},
    {"acl_master_token", text, effective, "as `acl.tokens.master`, which takes precedence"},
    {"acl_replication_token", text, none, "as `acl.tokens.replication`"},
    {"acl_token", text, effective, "as `acl.tokens.default`, which takes precedence", true},
    {"acl_ttl", duration, none, "as `acl.token_ttl`"},
    {"enable_acl_replication", boolean, none},
    {"encrypt", text, effective,
     "none. A secret shared by all servers, 16, 24 or 32 bytes in base64 (`belay keygen`): peers prove that they "
     "have it, and traffic between them is encrypted. Every process that has it counts as a server: "
     "[security.md](../operate/security.md)",
     true},
    {"encrypt_verify_incoming", boolean, effective,
     "true. False: accept peers without the key, too; for the change from an open port to `encrypt`", true},
    {"encrypt_verify_outgoing", boolean, effective,
     "true. False: connect to peers without the key; for the same change", true},
    {"verify_incoming", boolean, effective,
     "false. Peers and HTTPS clients must show a certificate that `ca_file` signed; `encrypt` alone is no longer "
     "enough",
     true},
    {"verify_incoming_https", boolean, effective, "false. The same, for HTTPS clients only", true},
    {"verify_incoming_rpc", boolean, effective, "false. The same, for peers only", true},
    {"verify_outgoing", boolean, effective,
     "false. The server presents its certificate when it connects to peers, and requires one that `ca_file` signed",
     true},
    {"verify_server_hostname", boolean, effective,
     "false. As `verify_outgoing`; peer certificates must also name `server.DATACENTER.DOMAIN`", true},
    {"cert_file", text, effective,
     "none. This server's certificate for peers and HTTPS in PEM, followed by the certificates between it and the CA "
     "(`belay tls cert create -server`)",
     true},
    {"key_file", text, effective, "none. Its private key in PEM, without a pass phrase", true},
    {"ca_file", text, effective,
     "none. PEM certificates of the authorities that sign those of peers and clients (`belay tls ca create`)", true},
    {"ca_path", text, effective, "none. A folder of such files, in addition to `ca_file` or instead of it", true},
    {"server_name", text, none},
    {"tls_cipher_suites", text, effective,
     "those with ECDHE and AES-GCM or ChaCha20. Suites of TLS 1.2 for HTTPS, with Consul's names, separated by "
     "commas: the ten with ECDHE and AES that Consul 1.8.7 supports. Those of TLS 1.3 are always the same three, and "
     "peers use only TLS 1.3",
     true},
    {"tls_min_version", text, effective,
     "`tls12`. For HTTPS: `tls10`, `tls11` or `tls12`; versions below TLS 1.2 are never used, and TLS 1.3 is always "
     "available",
     true},
    {"tls_prefer_server_cipher_suites", boolean, effective,
     "false. For HTTPS with TLS 1.2: the order of `tls_cipher_suites` decides, not the client's", true},
    {"auto_encrypt", section, effective},
    {"auto_encrypt.tls", boolean, refused, "refused if true: servers do not sign certificates for client agents"},
    {"auto_encrypt.allow_tls", boolean, refused, "refused if true: servers do not sign certificates for client agents"},
    {"auto_encrypt.dns_san", list, none},
    {"auto_encrypt.ip_san", list, none},
    {"auto_config", section, effective},
    {"auto_config.enabled", boolean, refused, "refused if true: servers do not configure client agents"},
    {"auto_config.authorization", opaque, none},
    {"auto_config.dns_sans", list, none},
    {"auto_config.intro_token", text, none},
    {"auto_config.intro_token_file", text, none},
    {"auto_config.ip_sans", list, none},
    {"auto_config.server_addresses", list, none},

    {"autopilot", section, effective},
    {"autopilot.cleanup_dead_servers", boolean, effective,
     "true. The leader writes this and the four below in a cluster where none was set with "
     "`/v1/operator/autopilot/configuration`; settings made there take precedence "
     "([operations.md](../operate/operations.md#autopilot)). Dead servers are removed"},
    {"autopilot.last_contact_threshold", duration, effective,
     "`200ms`. A server that the leader has not heard for longer is unhealthy"},
    {"autopilot.max_trailing_logs", integer, effective, "250. A server that is behind by more entries is unhealthy"},
    {"autopilot.min_quorum", integer, effective,
     "0. Minimum number of voters that stay, whichever servers are removed or become replicas"},
    {"autopilot.server_stabilization_time", duration, effective,
     "`10s`. How long a new server must be healthy before it votes"},
    {"autopilot.disable_upgrade_migration", boolean, silent},
    {"autopilot.redundancy_zone_tag", text, none},
    {"autopilot.upgrade_version_tag", text, none},

    {"acl_disabled_ttl", text, none, "as `acl.disabled_ttl`"},
    {"advertise_addr_ipv4", text, none},
    {"advertise_addr_ipv6", text, none},
    {"advertise_addr_wan", text, none},
    {"advertise_addr_wan_ipv4", text, none},
    {"advertise_addr_wan_ipv6", text, none},
    {"ae_interval", text, none},
    {"alt_domain", text, none},
    {"audit", section, effective},
    {"audit.enabled", boolean, effective,
     "false. Write a line of JSON for each request: the token, the request and its outcome "
     "([operations.md](../operate/operations.md#the-audit-log))"},
    {"audit.sink", section, effective},
    {"audit.sink.*", section, effective},
    {"audit.sink.*.type", text, effective,
     "`file`, the only one. Exactly one sink, with any name, is required if `audit.enabled`"},
    {"audit.sink.*.format", text, effective, "`json`, the only one"},
    {"audit.sink.*.path", text, effective, "none; required. Path of the file"},
    {"audit.sink.*.mode", text, effective, "`0600`. Permissions of the files, octal"},
    {"audit.sink.*.delivery_guarantee", text, effective,
     "`best-effort`: while the file cannot be written, lines are dropped and counted. `enforced`: requests are "
     "rejected; Consul has only best effort"},
    {"audit.sink.*.rotate_bytes", integer, effective, "0: unlimited. Size at which a new file starts"},
    {"audit.sink.*.rotate_duration", duration, effective, "`0s`: unlimited. Age at which a new file starts"},
    {"audit.sink.*.rotate_max_files", integer, effective, "0: all. Number of older files that are kept"},
    {"cache", section, effective},
    {"cache.entry_fetch_max_burst", integer, none},
    {"cache.entry_fetch_rate", integer, none},
    {"check", definitions, effective,
     "none. One check, or a list, as Consul defines them. Docker checks (`docker_container_id`) are rejected: write "
     "a script check that calls `docker exec`",
     true},
    {"checks", definitions, effective, "none. As `check`", true},
    {"check_deregister_interval_min", text, none},
    {"check_http_allow", list, effective,
     "everywhere. Networks (CIDR) to which HTTP checks may connect; redirects and resolved addresses are checked "
     "each time. An empty list allows none"},
    {"check_output_max_size", integer, effective, "4096. Maximum bytes of a check's output that are kept"},
    {"check_reap_interval", text, none},
    {"check_update_interval", duration, effective,
     "`5m`. How long a change of a check's output alone may wait before it is written to the catalog; changes of "
     "status never wait"},
    {"config_entries", opaque, none},
    {"connect", section, effective},
    {"connect.ca_config", opaque, none},
    {"connect.ca_provider", text, none},
    {"connect.enable_mesh_gateway_wan_federation", boolean, none},
    {"connect.enabled", boolean, none, "there is no service mesh"},
    {"connect.test_ca_leaf_root_change_spread", text, none},
    {"consul", section, effective},
    {"consul.coordinate", section, effective},
    {"consul.coordinate.update_batch_size", integer, none},
    {"consul.coordinate.update_max_batches", integer, none},
    {"consul.coordinate.update_period", text, none},
    {"consul.raft", section, effective},
    {"consul.raft.election_timeout", text, none, "`performance.raft_multiplier`"},
    {"consul.raft.heartbeat_timeout", text, none, "`performance.raft_multiplier`"},
    {"consul.raft.leader_lease_timeout", text, none, "`performance.raft_multiplier`"},
    {"consul.server", section, effective},
    {"consul.server.health_interval", text, none},
    {"disable_anonymous_signature", boolean, silent},
    {"disable_coordinates", boolean, effective,
     "false. True: this server measures no round trips, exchanges no coordinates, does not sort by `?near`, and "
     "answers `/v1/coordinate` with 401"},
    {"disable_host_node_id", boolean, silent, "node IDs are always random"},
    {"disable_keyring_file", boolean, effective,
     "false. Keys are stored in `data_dir`/serf/local.keyring, which takes precedence over `encrypt`; true: only "
     "`encrypt` is used",
     true},
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
    {"domain", text, effective, "`consul`. Domain part of server certificate names; there is no DNS", true},
    {"enable_agent_tls_for_checks", boolean, none},
    {"enable_central_service_config", boolean, silent},
    {"enable_debug", boolean, none},
    {"enable_local_script_checks", boolean, effective, "false. Checks in configuration files may run programs"},
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
    {"non_voting_server", boolean, effective, "false. The older name of `read_replica`"},
    {"read_replica", boolean, effective,
     "false. A server without a vote: it receives the log, answers reads itself and forwards writes "
     "([operations.md](../operate/operations.md#read-replicas))"},
    {"primary_datacenter", text, none},
    {"primary_gateways", list, none},
    {"primary_gateways_interval", duration, none},
    {"protocol", integer, silent, "there is one protocol"},
    {"raft_protocol", integer, silent, "there is one protocol"},
    {"reconnect_timeout", duration, none},
    {"reconnect_timeout_wan", duration, none},
    {"recursors", list, none},
    {"rejoin_after_leave", boolean, effective,
     "false. At its next start, a server that has left its cluster contacts the members it knows. Without this key "
     "and `retry_join` it waits for `PUT /v1/agent/join`. A server that was only stopped always comes back"},
    {"retry_interval_wan", duration, none},
    {"retry_join_wan", list, none},
    {"retry_max_wan", integer, none},
    {"revision", text, none},
    {"segment", text, refused, "refused if not empty: there is one network"},
    {"segments", opaque, refused, "refused if not empty: there is one network"},
    {"segment_limit", integer, none},
    {"segment_name_limit", integer, none},
    {"serf_lan", text, none},
    {"serf_lan_allowed_cidrs", list, none},
    {"serf_wan", text, none},
    {"serf_wan_allowed_cidrs", list, none},
    {"service", definitions, effective, "none. One service, or a list, as Consul defines them", true},
    {"services", definitions, effective, "none. As `service`", true},
    {"snapshot_agent", opaque, none, "`belay snapshot agent` is a separate program: [cli.md](cli.md)"},
    {"start_join_wan", list, none},
    {"sync_coordinate_interval_min", text, none},
    {"sync_coordinate_rate_target", integer, none},
    {"syslog_facility", text, none},
    {"translate_wan_addrs", boolean, none},
    {"ui_dir", text, none},
    {"unix_sockets", section, effective},
    {"unix_sockets.user", text, effective, "the server's user. Owner of Unix sockets for clients, by name or id"},
    {"unix_sockets.group", text, effective, "the server's group. Group of these sockets, by name or id"},
    {"unix_sockets.mode", text, effective, "by the umask. Permissions of these sockets: octal, such as `0770`"},
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
  const config_key* key; ///< null: unknown
  std::string name;      ///< in lower case, except for free names
};

/// @param section the beginning of the paths in the table, followed by a dot
found_key find_member(const std::string& section, std::string_view written) {
  auto name = lower_case(written);
  if (const auto* key = find_config_key(section + name); key != nullptr && name != any_name)
    return {key, std::move(name)};
  return {find_config_key(section + std::string(any_name)), std::string(written)};
}

/// Takes the known keys of one source, with their locations.
class source_check {
public:
  source_check(const std::string& source, config_places& places, config_problems& problems)
      : source_(source), places_(places), problems_(problems) {}

  /// @param prefix of paths; @param section likewise, in the table
  /// @param at of `in`; null: not known
  json::object known(const json::object& in, const std::string& prefix, const std::string& section_path,
                     const text_places* at) {
    json::object out;
    for (const auto& member : in) {
      const std::string written(member.key());
      const auto [key, name] = find_member(section_path, written);
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
        for (const auto& [each, place] : inside->members)
          note(path + "." + each, &place);
    }
    return out;
  }

private:
  config_place place_of(const text_places* at) const { return {source_, at != nullptr ? at->at : text_place{}}; }
  void note(const std::string& path, const text_places* at) {
    if (at != nullptr)
      places_[path] = place_of(at);
  }
  void complain(config_problem::kind kind, std::string text, const text_places* at, std::string key = {}) {
    // The complaint begins with the source: a source alone is no location.
    problems_.add({kind, source_, std::move(text), at != nullptr ? place_of(at) : config_place{}, std::move(key)});
  }

  const std::string& source_;
  config_places& places_;
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
void merge_places(config_places& into, const config_places& later, const std::string& path,
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
  merge_places(all.places, later.places, path, before);
  if (key && key->kind == text_map)
    for (const auto& member : value.get_object())
      merge_places(all.places, later.places, path + "." + std::string(member.key()), 0);
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
  source_check check(source, out.places, problems);
  out.values = check.known(text.values, "", "", &text.places);
  // One definition is a list of one.
  for (const auto& key : keys)
    if (const auto at = out.places.find(key.path); key.kind == definitions && at != out.places.end())
      if (const auto* v = out.values.if_contains(key.path); v && v->is_object())
        out.places[element_path(key.path, 0)] = config_place(at->second);
  return out;
}

void merge_config(placed_config& into, const placed_config& later) {
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
