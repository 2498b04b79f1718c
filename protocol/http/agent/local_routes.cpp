// Requests that the receiving node handles by itself: status, agent,
// operator (docs/contract/06, docs/contract/09, docs/contract/12).

#include "protocol/base/host_port.hpp"
#include "protocol/go_compat/error_list.hpp"
#include "protocol/go_compat/syntax.hpp"
#include "protocol/http/reading/query_options.hpp"
#include "protocol/http/routes.hpp"
#include "protocol/http/tokens.hpp"

#include <algorithm>

namespace belay::http {

namespace {

// RFC 1035, section 2.3.4: length of a name.
constexpr std::size_t host_bytes_max = 255;

action status(request_context& c, local_kind kind) {
  query_options o;
  if (auto r = read_query_options(c, o))
    return std::move(*r);
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  return local_request{.kind = kind, .stale = o.mode == consistency::stale};
}

/// Scrapers name the format that they accept in Accept.
bool accepts_prometheus(std::string_view accept) {
  while (!accept.empty()) {
    const auto end = std::min(accept.find(','), accept.size());
    std::string type;
    for (const char ch : accept.substr(0, end))
      if (ch != ' ')
        type += ch;
    accept.remove_prefix(std::min(end + 1, accept.size()));
    type = go_compat::lower_case(type);
    if (type.rfind("application/openmetrics-text", 0) == 0 || type.rfind("text/plain;version=0.0.4", 0) == 0)
      return true;
  }
  return false;
}

} // namespace

action status_leader_route(request_context& c) {
  return status(c, local_kind::status_leader);
}

action status_peers_route(request_context& c) {
  return status(c, local_kind::status_peers);
}

action raft_configuration_route(request_context& c) {
  return status(c, local_kind::raft_configuration);
}

action agent_self_route(request_context&) {
  return local_request{.kind = local_kind::agent_self};
}

action agent_members_route(request_context& c) {
  const bool wan = !c.query.get("wan").empty();
  const auto segment = c.query.get("segment");
  // The command line always requests "_all", with and without -wan.
  if (!segment.empty() && segment != "_all")
    return wan ? error_response(400, "Cannot provide a segment with wan=true")
               : error_response(500, "Network segments are not supported in this version of Consul");
  return local_request{.kind = local_kind::agent_members, .wan = wan && c.settings.has_wan_pool};
}

action agent_metrics_route(request_context& c) {
  const bool prometheus = c.query.get("format") == "prometheus" || accepts_prometheus(c.accept);
  if (prometheus && !c.settings.prometheus)
    return error_response(415, "Prometheus is not enabled since its retention time is not positive");
  const bool history = c.query.has("history");
  return local_request{.kind = local_kind::agent_metrics, .prometheus = prometheus && !history, .history = history};
}

action agent_live_route(request_context&) {
  return local_request{.kind = local_kind::agent_live};
}

action agent_ready_route(request_context&) {
  return local_request{.kind = local_kind::agent_ready};
}

namespace {

/// A secret by which a node's agent proves that it is the one that acted for the node before.
std::string secret_of_node(const request_context& c) {
  const auto is_secret = [](const auto& header) {
    return go_compat::equal_ignoring_case(header.first, secret_of_node_header);
  };
  const auto& headers = c.request.headers;
  const auto it = std::find_if(headers.begin(), headers.end(), is_secret);
  return it == headers.end() || !could_be_token(it->second) ? std::string() : std::string(it->second);
}

} // namespace

action agent_alive_route(request_context& c) {
  const auto* by = c.request.passed_on_by;
  if (by == nullptr)
    return error_response(403, "only client agents may send this request, on their connections to the server port");
  return local_request{.kind = local_kind::agent_alive,
                       .received = {by->uuid, by->address, c.request.method == "DELETE", by->node_name,
                                    std::string(c.request.remote_address), secret_of_node(c), by->authenticated}};
}

action agent_reload_route(request_context&) {
  return local_request{.kind = local_kind::agent_reload};
}

/// The component that has the log validates the level.
action agent_monitor_route(request_context& c) {
  local_request r{.kind = local_kind::agent_monitor, .text = std::string(c.query.get("loglevel"))};
  if (r.text.empty())
    r.text = "INFO";
  r.log_json = c.query.has("logjson");
  return r;
}

action agent_host_route(request_context&) {
  return local_request{.kind = local_kind::agent_host};
}

action agent_leave_route(request_context&) {
  return local_request{.kind = local_kind::agent_leave};
}

action agent_join_route(request_context& c) {
  if (c.query.get("wan") == "1")
    return error_response(400, "Bad request: there is no WAN pool: this server knows one datacenter");
  const auto peer = split_optional_port(std::string(c.argument));
  const auto address = join_host_port(peer.host, peer.port.value_or("8300"));
  if (peer.host.empty() || peer.host.size() > host_bytes_max || split_host_port(address).number() == 0) // Consul's text
    return error_response(
        500, go_compat::error_list({"Failed to resolve " + peer.host.substr(0, host_bytes_max) + ": lookup " +
                                    peer.host.substr(0, host_bytes_max) + ": no such host"}));
  return local_request{.kind = local_kind::agent_join, .text = address};
}

/// Ignores `?prune`: a removed member is forgotten anyway.
action agent_force_leave_route(request_context& c) {
  return local_request{.kind = local_kind::force_leave, .forced = {std::string(c.argument)}};
}

action catalog_datacenters_route(request_context& c) {
  query_options o;
  if (auto r = read_consistency(c, o))
    return std::move(*r);
  return local_request{.kind = local_kind::catalog_datacenters};
}

} // namespace belay::http
