#pragma once
// What an HTTP request means after path, query and body are parsed
// (docs/contract/01 to docs/contract/06), and the function that parses it.

#include "protocol/agent/requests.hpp"
#include "protocol/coordinates/table.hpp"
#include "protocol/forward/keyring.hpp"
#include "protocol/forward/operator_calls.hpp"
#include "protocol/http/access_rule.hpp"
#include "protocol/http/response.hpp"
#include "protocol/state/queries.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace belay {
struct renamed_name;
}
namespace belay::filter {
class row_filter;
}

namespace belay::http {

struct console_files;

/// A client agent: a node without tables, which forwards its clients' requests to servers.
struct client_agent {
  std::string node_name, uuid; ///< name and ID of its node
  std::string address;         ///< address of its node, without port
  bool authenticated = false;  ///< the connection is authenticated, by `encrypt` or a certificate
};

/// As received; views are valid only during the call.
struct raw_request {
  std::string_view method;
  std::string_view target; ///< still escaped
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  std::string_view body;
  std::string_view remote_address; ///< client's address, without port
  std::int64_t now_ns = 0;         ///< arrival, by the wall clock, since 1970
  /// The client agent that forwards it. Both its `http_config` and this server's apply. Null: none
  const client_agent* passed_on_by = nullptr;
  /// Size of a body that is too large and was not read; 0: unknown. Absent: `body` is the body.
  std::optional<std::uint64_t> unread_body_bytes = {};
};

enum class consistency : std::uint8_t { normal, consistent, stale };

/// Cache headers of a `?cached` read: `X-Cache`, on a hit `Age` (docs/contract/06, section 2).
struct cache_state {
  bool hit = false;
  std::chrono::seconds age{0};
};

/// How to render the response; kept until then.
struct render_options {
  bool pretty = false;
  bool gzip = false;                                     ///< client accepts gzip
  bool raw = false;                                      ///< KV ?raw
  bool keys_only = false;                                ///< changes without values
  bool rules_of_token = false;                           ///< only the rules of a token, in the current syntax
  std::shared_ptr<const filter::row_filter> filter = {}; ///< null: all rows
  std::optional<cache_state> cache = {};                 ///< nullopt: no cache headers
  bool old_values = false;                               ///< renamed values have their old names: so has the request
};

/// A read of the replicated state, possibly blocking.
struct read_request {
  state::query query;
  consistency mode = consistency::normal;
  std::uint64_t min_index = 0;      ///< 0: respond at once
  std::chrono::nanoseconds wait{0}; ///< with default and cap applied, without jitter
  bool cached = false;              ///< stale because of `?cached`: as in Consul, the response does not show that
};

/// A stream of changes of keys, as server-sent events.
struct change_stream {
  state::query query; ///< a kv_changes: where it starts
  consistency mode = consistency::normal;
};

/// A write of the replicated state.
struct write_request {
  state::command command;
  /// How long an acquire or a claim waits for its grant; zero: it does not.
  std::chrono::nanoseconds lock_wait{0};
};

struct session_renew {
  std::string id;
};
/// Several sessions, with one response.
struct session_renew_list {
  std::vector<std::string> ids; ///< never empty
};

/// GET /v1/snapshot. The archive follows in pieces after render_snapshot_head().
struct snapshot_save {
  bool stale = false;
};
/// PUT /v1/snapshot. The archive is the body.
struct snapshot_restore {};

/// Handled by the node that receives it, from its own data.
enum class local_kind : std::uint8_t {
  status_leader,
  status_peers,
  agent_self,
  agent_members,
  agent_metrics,
  raft_configuration,
  catalog_datacenters,
  agent_reload,
  remove_peer,
  autopilot_health,
  add_peer,
  agent_live,
  agent_ready,
  keyring,
  agent_token,
  agent_monitor,
  agent_host,
  agent_alive, ///< a client agent reports that it is alive, or leaves
  agent_leave, ///< responds when this server has left
  agent_join,
  force_leave,
  coordinate_datacenters,
  coordinate_update,
  translate_rules, ///< handled by render_translation(), not parse(): it is slow and needs a permission check first
};

/// An agent's own tokens that clients may change (docs/contract/10, section 5.3).
enum class agent_token_kind : std::uint8_t {
  of_requests, ///< `default`: for requests without a token
  agent,
  agent_master,
  replication,
  unknown, ///< no such token; reported only to clients that may change tokens
};
struct agent_token_change {
  agent_token_kind kind = agent_token_kind::of_requests;
  std::string secret; ///< empty: removes the token
};

struct local_request {
  local_kind kind = local_kind::status_leader;
  bool prometheus = false; ///< agent_metrics
  bool history = false;    ///< agent_metrics: of the last hour
  bool stale = false;
  bool wan = false;                      ///< agent_members: append the datacenter to names
  forward::remove_member removed = {};   ///< remove_peer
  forward::add_member added = {};        ///< add_peer
  forward::force_leave forced = {};      ///< force_leave
  forward::keyring_operation keys = {};  ///< keyring
  bool local_only = false;               ///< keyring
  bool log_json = false;                 ///< agent_monitor
  agent_token_change token = {};         ///< agent_token
  forward::agent_received received = {}; ///< agent_alive
  coordinates::row coordinate = {};      ///< coordinate_update: a node's coordinate, without its stamp
  /// translate_rules: rules; agent_join: host:port; agent_monitor: level; agent_token: unknown name
  std::string text = {};
};

/// Handled by the agent that receives it, from its own services, checks and events.
struct agent_request {
  agent::request what;
  bool text = false; ///< health of a service: the status word alone
};

/// A read with `?cached` (docs/contract/06, section 2). A client agent may respond from its
/// cache of servers' responses; a server reads its tables, and reports whether it did so before.
struct cached_read {
  std::string target; ///< the request to servers: without wait, caching and token
  /// True: a blocking query keeps the response current; false: it is as old as the last response.
  bool refreshed = true;
  std::uint64_t min_index = 0;
  std::chrono::nanoseconds wait{0};            ///< as in read_request
  std::optional<std::chrono::seconds> max_age; ///< max age of a cached response; only if not `refreshed`, as all below
  bool must_revalidate = false;                ///< no cached response is acceptable
  std::chrono::seconds stale_if_error{0};      ///< max age of a cached response if no server responds
};

using action = std::variant<response, read_request, change_stream, write_request, session_renew, session_renew_list,
                            snapshot_save, snapshot_restore, local_request, agent_request>;

struct parsed_request {
  http::action action; ///< a response: send it at once (errors, redirects, OPTIONS)
  render_options options;
  std::string_view route = "other"; ///< static name for metrics, such as "kv"
  /// The auth context, even if action is a response (others copy it); nullopt: ACLs off, malformed
  /// target.
  std::optional<state::auth_context> by = {};
  bool for_servers = false;               ///< a client agent must forward it to servers
  std::string target_for_servers{};       ///< path and query for servers, encoded again, without the token
  std::string secret_for_servers{};       ///< the token for servers, as received; empty: anonymous
  std::optional<cached_read> cached = {}; ///< nullopt: without `?cached`, or it has no effect here
  std::size_t memory = 0;                 ///< approximate bytes that the action takes besides the request's text
  access needs = access::unrestricted;    ///< needed permission, if ACLs are on and the action is not a response
  const renamed_name* old_name = nullptr; ///< old name that the request uses, for a warning; nullptr: none
};

/// Settings for routing; fixed per process (except by reload).
struct route_settings {
  std::string datacenter = "dc1";
  std::string node_name;
  std::size_t kv_max_value_size = 524288;
  std::size_t txn_max_req_len = 524288;
  std::chrono::nanoseconds default_query_time{std::chrono::minutes(5)};
  std::chrono::nanoseconds max_query_time{std::chrono::minutes(10)};
  std::chrono::nanoseconds session_ttl_min{std::chrono::seconds(10)};
  std::chrono::nanoseconds discovery_max_stale{0}; ///< > 0: catalog and health reads in default mode become stale
  bool consistent_by_default = false;              ///< all other reads in default mode become consistent
  bool client_agent = false;                       ///< this node is one
  bool use_cache = true;                           ///< `?cached` has an effect (http_config.use_cache)
  bool pretty_always = false;                      ///< -dev
  bool unprintable_filter = true;
  std::vector<std::string> block_endpoints;
  std::vector<std::pair<std::string, std::string>> response_headers;
  std::vector<std::string> allow_write_http_from; ///< CIDR
  /// Names by which the server may be addressed; `.example.com` covers all below it. nullopt: any
  std::optional<std::vector<std::string>> allowed_hosts;
  const console_files* console = nullptr; ///< null: not served. Lives as long as the process
  std::string console_path = "/ui/";      ///< `ui_content_path`; begins and ends with a slash
  bool prometheus = true;
  bool has_wan_pool = true;          ///< `ports.serf_wan` is not -1; only affects responses, as there is no WAN pool
  bool coordinates_disabled = false; ///< `disable_coordinates`
  bool acl_enabled = false;
  bool acl_allowed_by_default = true; ///< `acl.default_policy`
  /// Minimum lifetime of a token that expires (Consul's acl.token_min_expiration_ttl).
  std::chrono::nanoseconds token_ttl_min{std::chrono::minutes(1)};
  bool acl_lists_need_permission = false; ///< `acl.enable_key_list_policy`
  std::string default_token; ///< for requests without a token; empty: they are anonymous. Changed by agent/token
};

/// Parses a request. Pure; `uuid` returns a random lower-case UUID (for session ids).
parsed_request parse(const raw_request& r, const route_settings& s, const std::function<std::string()>& uuid);

/// The largest body this request may have, known from its header, to reject early (413).
struct body_limit {
  std::size_t bytes_max = 0;
  bool streamed = false; ///< the body is passed on as it arrives; parse() gets none
};
body_limit body_limit_of(std::string_view method, std::string_view target, const route_settings& s);
/// Whether bodies of that path are JSON or parsed text, not values or archives.
bool parses_body(std::string_view target);
/// The 413 of docs/contract/03, section 3, and docs/contract/05 for that length; 0: unknown.
response body_too_large(std::string_view target, std::uint64_t length, const route_settings& s);
/// The response if the body of `length` bytes (0: unknown) is too large to read. Errors that
/// Consul finds before the body come first (docs/contract/01, section 4). Closes the connection.
response refuse_large_body(const raw_request& head, std::uint64_t length, const route_settings& s);

} // namespace belay::http
