#include "protocol/http/request_context.hpp"

#include "protocol/base/uuid.hpp"
#include "protocol/golang/json_output.hpp"

namespace belay::http {

namespace {

response namespace_error(const char* kind, const char* name) {
  return error_response(400, std::string("Bad request: Invalid ") + kind + ": \"" + name +
                                 "\" - Namespaces are a Consul Enterprise feature");
}

} // namespace

refused refuse_namespace(const request_context& c) {
  if (!c.consul_namespace.empty())
    return namespace_error("header", "X-Consul-Namespace");
  if (!c.query.get("ns").empty())
    return namespace_error("query parameter", "ns");
  return std::nullopt;
}

response no_path_to_datacenter() {
  return error_response(500, "No path to datacenter");
}

refused refuse_datacenter(const request_context& c) {
  const auto dc = c.query.get("dc");
  if (dc.empty() || dc == c.settings.datacenter)
    return std::nullopt;
  return no_path_to_datacenter();
}

response with_unknown_meta(response r) {
  r.headers.emplace_back("X-Consul-Index", "1");
  r.headers.emplace_back("X-Consul-Knownleader", "false");
  r.headers.emplace_back("X-Consul-Lastcontact", "0");
  return r;
}

refused refuse_session_id(std::string_view id) {
  if (id.size() == uuid_characters)
    return std::nullopt;
  return error_response(500, "failed session lookup: index error: UUID must be 36 characters");
}

response json_response(std::string compact, const render_options& options) {
  response r;
  r.content_type = "application/json";
  r.body = options.pretty ? golang::prettify_json(compact) : std::move(compact);
  return r;
}

} // namespace belay::http
