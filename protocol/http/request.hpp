#pragma once
// What an HTTP request asks for, once its path, query and body are understood (docs/contract/01 to docs/contract/06),
// and the function that finds it out.

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

namespace belay::filter {
class row_filter;
}

namespace belay::http {

struct console_files;

/// A client agent: a node that has no tables and passes the requests of its clients on to servers.
struct client_agent {
  std::string node_name, uuid; ///< of its node
  std::string address;         ///< of its node, without port
  bool authenticated = false;  ///< the connection, by `encrypt` or a certificate
};

/// As it came over the wire; views stay valid only during the call.
struct raw_request {
  std::string_view method;
  std::string_view target; ///< still escaped
  std::vector<std::pair<std::string_view, std::string_view>> headers;
  std::string_view body;
  std::string_view remote_address; ///< of the client, without port
  std::int64_t now_ns = 0;         ///< when it came: of the wall clock, since 1970
  /// The client agent that passes it on. Its own `http_config` was applied before, and that of this server applies, too. Null: none
  const client_agent* passed_on_by = nullptr;
  /// The body is larger than it may be and was not read: its bytes, 0 if they are not known. Absent: `body` is the body.
  std::optional<std::uint64_t> unread_body_bytes = {};
};

enum class consistency : std::uint8_t { normal, consistent, stale };

/// What an answer to a read with `?cached` says of the cache: `X-Cache` and, of a hit, `Age` (docs/contract/06, section 2).
struct cache_mark {
  bool hit = false;
  std::chrono::seconds age{0};
};

/// How the answer is to be written; kept until it is rendered.
struct render_options {
  bool pretty = false;
  bool gzip = false;                                     ///< client accepts gzip
  bool raw = false;                                      ///< KV ?raw
  bool keys_only = false;                                ///< of changes, no values
  bool rules_of_token = false;                           ///< of a token only its rules, in the present syntax
  std::shared_ptr<const filter::row_filter> filter = {}; ///< null: all rows
  std::optional<cache_mark> cache = {};                  ///< nullopt: nothing is said of it
};

/// A read of the replicated state, perhaps blocking.
struct read_request {
  state::query query;
  consistency mode = consistency::normal;
  std::uint64_t min_index = 0;      ///< 0: answer at once
  std::chrono::nanoseconds wait{0}; ///< already defaulted and capped, without jitter
  bool cached = false;              ///< `?cached` is why it is stale: as in Consul, the answer does not say so
};

/// Changes of keys as they come, as server-sent events.
struct change_stream {
  state::query query; ///< a kv_changes: what comes first
  consistency mode = consistency::normal;
};

/// A write of the replicated state.
struct write_request {
  state::command command;
  /// So long an acquire or a claim waits for its grant; zero: not at all.
  std::chrono::nanoseconds lock_wait{0};
};

struct session_renew {
  std::string id;
};
/// Several of them, in one answer.
struct session_renew_list {
  std::vector<std::string> ids; ///< never empty
};

/// GET /v1/snapshot. The archive comes in pieces behind render_snapshot_head().
struct snapshot_save {
  bool stale = false;
};
/// PUT /v1/snapshot. The archive is the body.
struct snapshot_restore {};

/// Answered by the node that is asked, from what it knows.
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
  agent_alive, ///< a client agent tells that it is there, or that it leaves
  agent_leave, ///< answered when this server has left
  agent_join,
  force_leave,
  coordinate_datacenters,
  coordinate_update,
  translate_rules, ///< answered by render_translation(); not by parse(), since that costs time, and nobody was asked for his token yet
};

/// The tokens of an agent itself that clients may change (docs/contract/10, section 5.3).
enum class agent_token_kind : std::uint8_t {
  of_requests, ///< `default`: of requests that bring none
  agent,
  agent_master,
  replication,
  unknown, ///< there is no such one; told to who may change them
};
struct agent_token_change {
  agent_token_kind kind = agent_token_kind::of_requests;
  std::string secret; ///< empty: there is none any more
};

struct local_request {
  local_kind kind = local_kind::status_leader;
  bool prometheus = false; ///< agent_metrics
  bool history = false;    ///< agent_metrics: of the last hour
  bool stale = false;
  bool wan = false;                     ///< agent_members: names have the datacenter behind them
  forward::remove_member removed = {};  ///< remove_peer
  forward::add_member added = {};       ///< add_peer
  forward::force_leave forced = {};     ///< force_leave
  forward::keyring_operation keys = {}; ///< keyring
  bool local_only = false;              ///< keyring
  bool log_json = false;                ///< agent_monitor
  agent_token_change token = {};        ///< agent_token
  forward::agent_heard heard = {};      ///< agent_alive
  coordinates::row place = {};          ///< coordinate_update: which node is where; its stamp is not set
  /// translate_rules: what is to be translated; agent_join: host:port; agent_monitor: the level; agent_token: a name that is none
  std::string text = {};
};

/// Answered by the agent that is asked, from its own services, checks and events.
struct agent_request {
  agent::request what;
  bool text = false; ///< health of a service: the status word alone
};

/// A read with `?cached` (docs/contract/06, section 2). A client agent may answer it from what servers said before; a server answers it from its
/// tables, and says whether it did before.
struct cached_read {
  std::string target;    ///< what servers are asked: without what is said of waiting, of caching and of the token
  bool refreshed = true; ///< a blocking query tells of each change; false: it is as old as the last answer
  std::uint64_t min_index = 0;
  std::chrono::nanoseconds wait{0};            ///< as in read_request
  std::optional<std::chrono::seconds> max_age; ///< older answers do not count; only if not `refreshed`, as all below
  bool must_revalidate = false;                ///< no earlier answer counts
  std::chrono::seconds stale_if_error{0};      ///< so old an answer may be if no server answers
};

using action = std::variant<response, read_request, change_stream, write_request, session_renew, session_renew_list,
                            snapshot_save, snapshot_restore, local_request, agent_request>;

struct parsed_request {
  http::action action; ///< a response: answer with it at once (errors, redirects, OPTIONS)
  render_options options;
  std::string_view route = "other"; ///< static name for metrics, such as "kv"
  /// In whose name it asks, also if the action is a response; nullopt: ACLs are off, or its path or query cannot be read. Reads and writes of the replicated state say it, too, if the route needs anything.
  std::optional<state::authority> by = {};
  bool for_servers = false;               ///< a client agent was asked what it has to ask servers
  std::string target_for_servers{};       ///< path and query of what is for servers, encoded anew, without the token
  std::string secret_for_servers{};       ///< the token that goes with it, as it came; empty: it is anonymous
  std::optional<cached_read> cached = {}; ///< nullopt: it has no `?cached`, or that means nothing there
  std::size_t memory = 0;                 ///< about what the action takes beside the text of the request: bytes
  access needs = access::nobody;          ///< of him, where ACLs are on and the action is no response
};

/// Settings that routing depends on; fixed per process (except by reload).
struct route_settings {
  std::string datacenter = "dc1";
  std::string node_name;
  std::size_t kv_max_value_size = 524288;
  std::size_t txn_max_req_len = 524288;
  std::chrono::nanoseconds default_query_time{std::chrono::minutes(5)};
  std::chrono::nanoseconds max_query_time{std::chrono::minutes(10)};
  std::chrono::nanoseconds session_ttl_min{std::chrono::seconds(10)};
  std::chrono::nanoseconds discovery_max_stale{0}; ///< > 0: catalog and health reads in default mode become stale ones
  bool consistent_by_default = false;              ///< all other reads in default mode become consistent ones
  bool client_agent = false;                       ///< this node is one
  bool use_cache = true;                           ///< `?cached` means something (http_config.use_cache)
  bool pretty_always = false;                      ///< -dev
  bool unprintable_filter = true;
  std::vector<std::string> block_endpoints;
  std::vector<std::pair<std::string, std::string>> response_headers;
  std::vector<std::string> allow_write_http_from; ///< CIDR
  /// Names by which the server may be called; `.example.com` stands for all below it. nullopt: any
  std::optional<std::vector<std::string>> allowed_hosts;
  const console_files* console = nullptr; ///< null: none is served. Lives as long as the process
  std::string console_path = "/ui/";      ///< `ui_content_path`; begins and ends with a slash
  bool prometheus = true;
  bool has_wan_pool = true;          ///< `ports.serf_wan` is not -1; there is none in fact, answers are as Consul's
  bool coordinates_disabled = false; ///< `disable_coordinates`
  bool acl_enabled = false;
  bool acl_allowed_by_default = true; ///< `acl.default_policy`
  /// How long a token that expires lives at least (Consul's acl.token_min_expiration_ttl).
  std::chrono::nanoseconds token_ttl_min{std::chrono::minutes(1)};
  bool acl_lists_need_permission = false; ///< `acl.enable_key_list_policy`
  std::string default_token; ///< of requests that bring none; empty: they are anonymous. Changed by agent/token
};

/// Decides what a request asks for. Pure; `uuid` makes a fresh random lower-case UUID (for session ids).
parsed_request parse(const raw_request& r, const route_settings& s, const std::function<std::string()>& uuid);

/// Known as soon as the header is there: the largest body this request may have, so that it can be refused early (413).
struct body_limit {
  std::size_t bytes_max = 0;
  bool streamed = false; ///< the body is passed on as it comes; parse() sees none
};
body_limit body_limit_of(std::string_view method, std::string_view target, const route_settings& s);
/// Bodies of that path are JSON, or text that is parsed: not a value, not an archive.
bool parses_body(std::string_view target);
/// The 413 of docs/contract/03, section 3, and docs/contract/05 for a body of that length; 0: unknown, because it came in chunks.
response body_too_large(std::string_view target, std::uint64_t length, const route_settings& s);
/// The answer to a request with a body that is too large to be read, of `length` bytes (0: unknown). Errors that Consul finds before it looks at
/// the body go first (docs/contract/01, section 4). The connection is closed after it.
response refuse_large_body(const raw_request& head, std::uint64_t length, const route_settings& s);

} // namespace belay::http
