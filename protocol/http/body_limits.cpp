// Limits of request bodies, and the responses to clients that exceed them.

#include "protocol/go_compat/url.hpp"
#include "protocol/http/routes.hpp"

#include <algorithm>
#include <limits>

namespace belay::http {

namespace {

// The reference has no limit. Registrations and sessions are small; this protects memory.
constexpr std::size_t usual_bytes_max = 4 << 20;

/// The path is not clean yet; for a request that will be redirected the literal spelling will do.
body_rule rule_of(std::string_view target) {
  target = local_part(target);
  std::string decoded;
  auto path = target.substr(0, std::min(target.find('?'), target.size()));
  if (path.find('%') != std::string_view::npos) {
    if (!go_compat::decode_path(path, decoded))
      return body_rule::usual;
    path = decoded;
  }
  const auto* at = find_route(path);
  return at != nullptr ? at->body : body_rule::usual;
}

body_limit limit_of(body_rule rule, bool put, const route_settings& s) {
  switch (rule) {
  case body_rule::value:
    if (put)
      return {s.kv_max_value_size};
    break;
  case body_rule::transaction:
    return {std::max(s.txn_max_req_len, s.kv_max_value_size)};
  case body_rule::archive:
    if (put)
      return {std::numeric_limits<std::size_t>::max(), true};
    break;
  case body_rule::usual:
    break;
  }
  return {usual_bytes_max};
}

/// Documentation of the option that sets the limit.
std::string_view advice(body_rule rule) {
  if (rule == body_rule::value)
    return " See https://www.consul.io/docs/agent/options.html#kv_max_value_size.";
  if (rule == body_rule::transaction)
    return " See https://www.consul.io/docs/agent/options.html#txn_max_req_len.";
  return {};
}

} // namespace

std::string_view local_part(std::string_view target) {
  if (target.empty() || target.front() == '/')
    return target;
  // Absolute form, as sent to proxies (RFC 9112 section 3.2.2).
  const auto authority = target.find("://");
  if (authority == std::string_view::npos)
    return {};
  const auto path = target.find('/', authority + 3);
  return path == std::string_view::npos ? std::string_view("/") : target.substr(path);
}

body_limit body_limit_of(std::string_view method, std::string_view target, const route_settings& s) {
  return limit_of(rule_of(target), method == "PUT", s);
}

bool parses_body(std::string_view target) {
  const auto rule = rule_of(target);
  return rule == body_rule::usual || rule == body_rule::transaction;
}

response body_too_large(std::string_view target, std::uint64_t length, const route_settings& s) {
  const auto rule = rule_of(target);
  const auto limit = limit_of(rule, true, s).bytes_max;
  std::string text = "Request body";
  if (length != 0)
    text += "(" + std::to_string(length) + " bytes)";
  text += " too large, max size: " + std::to_string(limit) + " bytes.";
  text += advice(rule);
  auto r = error_response(413, std::move(text));
  r.close = true;
  return r;
}

response refuse_large_body(const raw_request& head, std::uint64_t length, const route_settings& s) {
  auto r = head;
  r.body = {};
  r.unread_body_bytes = length;
  auto parsed = parse(r, s, [] { return std::string(); });
  auto* refusal = std::get_if<response>(&parsed.action);
  // A route that ignores its body would run without it.
  if (refusal == nullptr || refusal->status < 300)
    return body_too_large(r.target, length, s);
  refusal->close = true;
  return std::move(*refusal);
}

} // namespace belay::http
