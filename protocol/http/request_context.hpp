#pragma once
// A request on its way to the handler of its path: what the router
// found out about it, and checks that several handlers share.

#include "protocol/go_compat/url.hpp"
#include "protocol/http/request.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::http {

struct request_context {
  const raw_request& request;
  const route_settings& settings;
  const std::function<std::string()>& uuid;
  render_options& options;

  std::string_view path;     ///< decoded and clean
  std::string_view argument; ///< rest of the path after the route's prefix
  go_compat::query_string query;

  // Headers that some route uses; the first of each name.
  std::string_view accept, accept_encoding, cache_control, consul_namespace, consul_token, authorization, last_event_id;
  std::vector<std::string_view> idempotency_keys = {}; ///< all of them

  const renamed_name* old_name = nullptr; ///< set by the handler, for parsed_request
};

/// An agent of this version proves with it that the node is its own; 0.2.0 does not know it.
inline constexpr std::string_view secret_of_node_header = "X-Belay-Node-Secret";

/// Handler of one path. Called only with a method of that path's list.
using route_handler = action (*)(request_context&);

/// The response to a rejected request; nullopt: not rejected.
using refused = std::optional<response>;

/// The node of the agent that the client uses.
inline const std::string& node_of_agent(const request_context& c) {
  return c.request.passed_on_by != nullptr ? c.request.passed_on_by->node_name : c.settings.node_name;
}

/// Namespaces are not supported (docs/contract/01, section 6).
refused refuse_namespace(const request_context& c);
/// `?dc` names another datacenter.
refused refuse_datacenter(const request_context& c);
response no_path_to_datacenter();
/// Adds the headers of failed session, catalog and health reads after validation (docs/contract/01,
/// section 7).
response with_unknown_meta(response r);
/// `id` cannot be a session's (docs/contract/04, section 2.2).
refused refuse_session_id(std::string_view id);

/// 200 with this JSON.
response json_response(std::string compact, const render_options& options);

} // namespace belay::http
