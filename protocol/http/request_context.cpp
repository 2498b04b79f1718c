#include "protocol/http/request_context.hpp"

#include "protocol/base/hex.hpp"
#include "protocol/base/uuid.hpp"
#include "protocol/go_compat/json_output.hpp"

#include <algorithm>

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

namespace {

/// Like Go's %#U.
std::string code_point(unsigned char c) {
  std::string out = "U+00";
  for (const int digit : {c >> 4, c & 15})
    out += "0123456789ABCDEF"[digit];
  if (c >= 0x20 && c < 0x7f)
    out += std::string(" '") + static_cast<char>(c) + '\'';
  return out;
}

/// Error of Consul's ID index for a malformed text (go-memdb's parseString of UUIDFieldIndex).
/// @returns empty: well-formed
std::string wrong_uuid(std::string_view id) {
  if (id.size() != uuid_characters)
    return "UUID must be 36 characters";
  const auto hyphens = std::count(id.begin(), id.end(), '-');
  if (hyphens > 4)
    return "UUID should have maximum of 4 \"-\"; got " + std::to_string(hyphens);
  if (hyphens % 2 != 0)
    return "Input (without hyphens) must be even length";
  for (const char c : id)
    if (c != '-' && hex_value(c) < 0)
      return "Invalid UUID: encoding/hex: invalid byte: " + code_point(static_cast<unsigned char>(c));
  return {};
}

} // namespace

refused refuse_session_id(std::string_view id) {
  const auto wrong = wrong_uuid(id);
  return wrong.empty() ? refused() : error_response(500, "failed session lookup: index error: " + wrong);
}

response json_response(std::string compact, const render_options& options) {
  response r;
  r.content_type = "application/json";
  r.body = options.pretty ? go_compat::prettify_json(compact) : std::move(compact);
  return r;
}

} // namespace belay::http
