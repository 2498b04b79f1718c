// The router: from request line to handler, in the order of docs/contract/01, section 4.

#include "protocol/go_compat/json_input.hpp"
#include "protocol/go_compat/syntax.hpp"
#include "protocol/http/console/console.hpp"
#include "protocol/http/host_names.hpp"
#include "protocol/http/network.hpp"
#include "protocol/http/outcomes/idempotency_key.hpp"
#include "protocol/http/reading/cached_read.hpp"
#include "protocol/http/reading/claim_parameters.hpp"
#include "protocol/http/routes.hpp"
#include "protocol/http/tokens.hpp"
#include "protocol/state/command_level.hpp"

#include <algorithm>
#include <array>

namespace belay::http {

namespace {

/// Responses of the router itself have no Vary (docs/contract/01, section 7).
response bare(int status) {
  response r;
  r.status = status;
  r.vary = false;
  return r;
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&#34;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += c;
  }
  return out;
}

response redirect(std::string_view method, std::string_view path, std::string_view raw_query) {
  auto r = bare(301);
  auto location = go_compat::escape_path(path);
  if (!raw_query.empty())
    (location += '?').append(raw_query);
  if (method == "GET" || method == "HEAD") {
    r.content_type = "text/html; charset=utf-8";
    if (method == "GET")
      r.body = "<a href=\"" + escape_html(location) + "\">Moved Permanently</a>.\n\n";
  }
  r.headers.emplace_back("Location", std::move(location));
  return r;
}

response with_allow(response r, const route& at) {
  r.headers.emplace_back("Allow", at.allow());
  return r;
}

/// Replaces the address of a client on a Unix socket.
constexpr std::string_view unix_socket = "unix";

bool is_blocked(const request_context& c) {
  const auto& blocked = c.settings.block_endpoints;
  return std::any_of(blocked.begin(), blocked.end(),
                     [&](const std::string& prefix) { return c.path.substr(0, prefix.size()) == prefix; });
}

bool may_write_from(const request_context& c) {
  const auto& allowed = c.settings.allow_write_http_from;
  const auto address = c.request.remote_address;
  return allowed.empty() || c.request.method == "GET" ||
         std::any_of(allowed.begin(), allowed.end(),
                     [&](const std::string& cidr) { return network_contains(cidr, address); });
}

void read_headers(request_context& c) {
  for (const auto& [name, value] : c.request.headers) {
    std::string_view* slot = nullptr;
    switch (name.size()) { // these names have mostly different lengths, and most headers match none
    case 6:
      slot = go_compat::equal_ignoring_case(name, "Accept") ? &c.accept : nullptr;
      break;
    case 13:
      slot = go_compat::equal_ignoring_case(name, "Cache-Control")   ? &c.cache_control
             : go_compat::equal_ignoring_case(name, "Authorization") ? &c.authorization
             : go_compat::equal_ignoring_case(name, "Last-Event-ID") ? &c.last_event_id
                                                                     : nullptr;
      break;
    case 14:
      slot = go_compat::equal_ignoring_case(name, "X-Consul-Token") ? &c.consul_token : nullptr;
      break;
    case 15:
      slot = go_compat::equal_ignoring_case(name, "Accept-Encoding") ? &c.accept_encoding : nullptr;
      if (go_compat::equal_ignoring_case(name, "Idempotency-Key"))
        c.idempotency_keys.push_back(value);
      break;
    case 18:
      slot = go_compat::equal_ignoring_case(name, "X-Consul-Namespace") ? &c.consul_namespace : nullptr;
      break;
    default:
      break;
    }
    if (slot && slot->data() == nullptr)
      *slot = value;
  }
}

/// A coding with weight zero is rejected by the client (RFC 9110 section 12.5.3).
bool is_refused_coding(std::string_view parameters) {
  std::string squeezed;
  for (const char c : parameters)
    if (c != ' ' && c != '\t')
      squeezed += c;
  const auto q = squeezed.find(";q=");
  if (q == std::string::npos)
    return false;
  return squeezed.find_first_not_of("0.", q + 3) == std::string::npos;
}

bool accepts_gzip(std::string_view header) {
  while (!header.empty()) {
    const auto end = std::min(header.find(','), header.size());
    auto coding = header.substr(0, end);
    header.remove_prefix(std::min(end + 1, header.size()));
    while (!coding.empty() && coding.front() == ' ')
      coding.remove_prefix(1);
    auto name = coding.substr(0, std::min(coding.find(';'), coding.size()));
    while (!name.empty() && name.back() == ' ')
      name.remove_suffix(1);
    if (go_compat::equal_ignoring_case(name, "gzip"))
      return !is_refused_coding(coding.substr(std::min(coding.find(';'), coding.size())));
  }
  return false;
}

/// @pre query and headers were read
action handle(request_context& c, const route& at) {
  const auto method = c.request.method;
  c.options.pretty = c.settings.pretty_always || c.query.has("pretty");
  c.options.gzip = !c.accept_encoding.empty() && accepts_gzip(c.accept_encoding);
  // Client agents' forwarded requests are checked by the agent's address; its own reports are not.
  const bool of_agent = c.request.passed_on_by != nullptr && at.handle == agent_alive_route;
  if (!of_agent && is_blocked(c))
    return error_response(403, "Endpoint is blocked by agent configuration");
  if (method == "OPTIONS")
    return with_allow(response{}, at);
  if ((at.methods & method_bit(method)) == 0)
    return with_allow(error_response(405, "method " + std::string(method) + " not allowed"), at);
  if (!of_agent && !may_write_from(c))
    return error_response(403, "Access is restricted");
  if (c.request.unread_body_bytes && parses_body(c.request.target) && at.body != body_rule::transaction)
    return body_too_large(c.request.target, *c.request.unread_body_bytes, c.settings);
  c.argument = c.path.substr(at.pattern.size());
  return at.handle(c);
}

/// Path and query as parsed, encoded again.
std::string target_without_token(const request_context& c) {
  constexpr auto token = std::to_array<std::string_view>({"token"});
  auto target = go_compat::escape_path(c.path);
  if (const auto query = c.query.encoded_without(token); !query.empty())
    target.append("?").append(query);
  return target;
}

/// Limits the lists of a query, for any route.
refused refuse_many_parameters(const go_compat::query_string& query) {
  if (query.size() > parameters_max)
    return invalid_parameter("query", "more than " + std::to_string(parameters_max) + " parameters");
  for (const auto& bound : parameter_bounds())
    if (query.size() > bound.times_max && query.count(bound.name) > bound.times_max)
      return invalid_parameter(bound.name, "more than " + std::to_string(bound.times_max));
  return std::nullopt;
}

bool has_control_character(std::string_view target) {
  return std::any_of(target.begin(), target.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= 0x20 || byte == 0x7F;
  });
}

response index_page() {
  auto r = error_response(200, "Consul Agent");
  r.vary = false;
  return r;
}

std::string_view header_of(const raw_request& r, std::string_view wanted) {
  for (const auto& [name, value] : r.headers)
    if (go_compat::equal_ignoring_case(name, wanted))
      return value;
  return {};
}

/// Paths outside the API.
/// @param path clean
response page(const raw_request& r, const route_settings& s, std::string_view path, std::string_view raw_query) {
  if (s.console == nullptr)
    return path == "/" ? index_page() : bare(404);
  if (path == "/" || path == std::string_view(s.console_path).substr(0, s.console_path.size() - 1))
    return redirect(r.method, s.console_path, raw_query);
  if (!path.starts_with(s.console_path))
    return bare(404);
  return console_answer(*s.console, path.substr(s.console_path.size()),
                        {r.method, accepts_gzip(header_of(r, "Accept-Encoding")), header_of(r, "If-None-Match")});
}

} // namespace

namespace {

/// Bytes per value of a body, in a list or a map, as Boost.JSON 1.81 stores it. 50 (short texts,
/// empty objects) to 128 (members of a map) were measured with mallinfo2 for 60,000 values.
constexpr std::size_t bytes_of_json_value = 128;
// Copies of names: in the query, the watch registry, a stream's groups. Counted in the code.
constexpr std::size_t copies_of_stream = 6, copies_of_wait = 2;

std::size_t memory_of(const action& a, const raw_request& r, const route& at) {
  if (std::holds_alternative<response>(a))
    return 0;
  if (std::holds_alternative<change_stream>(a))
    return copies_of_stream * r.target.size();
  if (const auto* read = std::get_if<read_request>(&a); read != nullptr && read->min_index != 0)
    return copies_of_wait * r.target.size();
  const bool json = at.body == body_rule::usual || at.body == body_rule::transaction;
  return json && !r.body.empty() ? bytes_of_json_value * go_compat::json_values_at_most(r.body) : 0;
}

} // namespace

/// The checks have Consul's order, since the first one that fails determines the response: host,
/// origin, target, path, route, query. The route's handler parses the rest. Then what applies to
/// all routes is added: idempotency key, client address, caching and token.
parsed_request parse(const raw_request& r, const route_settings& s, const std::function<std::string()>& uuid) {
  parsed_request out;
  if (!may_call_by_host(r, s)) {
    out.action = refuse_host(r);
    return out;
  }
  const bool only_reads = r.method == "GET" || r.method == "HEAD" || r.method == "OPTIONS";
  if (r.passed_on_by == nullptr && !only_reads && comes_from_another_site(r, s)) {
    out.action = refuse_site();
    return out;
  }
  if (r.method == "OPTIONS" && r.target == "*") {
    out.action = bare(200);
    return out;
  }
  const auto target = local_part(r.target);
  if (target.empty() || has_control_character(target)) {
    out.action = malformed_request();
    return out;
  }
  const auto query_at = std::min(target.find('?'), target.size());
  const auto raw_query = target.substr(std::min(query_at + 1, target.size()));
  auto path = target.substr(0, query_at);
  std::string decoded;
  if (path.find('%') != std::string_view::npos) {
    if (!go_compat::decode_path(path, decoded)) {
      out.action = malformed_request();
      return out;
    }
    path = decoded;
  }
  if (s.unprintable_filter && !go_compat::is_printable(path)) {
    out.action = bare(400);
    return out;
  }
  std::string cleaned;
  const auto* at = find_route(path);
  const bool unclean = !go_compat::is_clean_path(path) && !(at != nullptr && takes_any_id(*at, path));
  if (unclean) {
    cleaned = go_compat::clean_path(path);
    path = cleaned;
    at = find_route(path);
  }
  if (!at && is_prefix_without_slash(path)) {
    out.action = redirect(r.method, std::string(path) + '/', raw_query);
    return out;
  }
  if (unclean) {
    out.action = redirect(r.method, path, raw_query);
    return out;
  }
  if (!at) {
    if (s.console != nullptr && path.starts_with(s.console_path))
      out.route = "ui";
    out.action = page(r, s, path, raw_query);
    return out;
  }
  out.route = at->name;
  request_context c{r, s, uuid, out.options, path, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  if (!c.query.parse(raw_query)) {
    response r;
    r.status = 500;
    out.action = std::move(r);
    return out;
  }
  if (auto no = refuse_many_parameters(c.query)) {
    out.action = std::move(*no);
    return out;
  }
  read_headers(c);
  out.action = handle(c, *at);
  out.old_name = c.old_name;
  out.memory = memory_of(out.action, r, *at);
  if (!c.idempotency_keys.empty() && r.method != "GET" && r.method != "HEAD" && r.method != "OPTIONS")
    make_idempotent(c, out.action);
  if (auto* write = std::get_if<write_request>(&out.action); write != nullptr && state::has_client(write->command))
    write->command.client_address = r.remote_address.empty() ? std::string(unix_socket) : network_of(r.remote_address);
  out.needs = at->needs(method_bit(r.method));
  if (s.client_agent && !std::holds_alternative<response>(out.action) && !answered_by_client_agent(*at)) {
    out.for_servers = true;
    out.target_for_servers = target_without_token(c);
    out.secret_for_servers = token_of(c);
    out.cached = cached_read_of(c, *at, out.action);
  } else if (!s.client_agent && r.passed_on_by == nullptr && !std::holds_alternative<response>(out.action)) {
    out.cached = cached_read_of(c, *at, out.action);
    if (out.cached)
      read_as_cached(*out.cached, out.action);
  }
  if (s.acl_enabled) {
    out.by = auth_context_of(c);
    if (out.needs != access::unrestricted)
      attach_auth_context(out.action, *out.by, s.acl_lists_need_permission);
  }
  return out;
}

} // namespace belay::http
