#include "protocol/http/host_names.hpp"

#include "protocol/base/ascii_case.hpp"
#include "protocol/base/host_port.hpp"
#include "protocol/http/network.hpp"

#include <algorithm>

namespace belay::http {

namespace {

std::string_view host_header(const raw_request& r) {
  for (const auto& [name, value] : r.headers)
    if (equal_ignoring_case(name, "Host"))
      return value;
  return {};
}

/// The name without port, brackets and the trailing dot of an absolute name.
std::string_view name_in(std::string_view host) {
  if (!host.empty() && host.front() == '[')
    return host.substr(1, std::min(host.find(']'), host.size()) - 1);
  host = host.substr(0, host.find(':'));
  if (!host.empty() && host.back() == '.')
    host.remove_suffix(1);
  return host;
}

/// `.example.com` matches all names below it.
bool matches(std::string_view name, std::string_view allowed) {
  if (!allowed.empty() && allowed.front() == '.')
    return name.size() > allowed.size() && equal_ignoring_case(name.substr(name.size() - allowed.size()), allowed);
  return equal_ignoring_case(name, allowed);
}

/// Whether a page of `origin` (scheme://host[:port], or null) is from the
/// server that `host` names. A browser omits the scheme's default port in both.
bool same_server(std::string_view origin, std::string_view host) {
  const auto scheme = origin.find("://");
  if (scheme == std::string_view::npos || host.empty())
    return false;
  const int usual = equal_ignoring_case(origin.substr(0, scheme), "https") ? 443 : 80;
  const auto host_of = [usual](std::string_view text) {
    auto at = split_optional_port(text);
    return std::pair(lower_case(at.host), at.port.value_or(std::to_string(usual)));
  };
  return host_of(origin.substr(scheme + 3)) == host_of(host);
}

/// The host in scheme://host[:port]; empty: not a server's origin.
std::string_view host_of_origin(std::string_view origin) {
  const auto scheme = origin.find("://");
  if (scheme == std::string_view::npos)
    return {};
  const auto rest = origin.substr(scheme + 3);
  const auto port = split_optional_port(rest).port.value_or("");
  return port.find_first_not_of("0123456789") == std::string::npos ? name_in(rest) : std::string_view();
}

bool is_allowed_name(std::string_view name, const route_settings& s) {
  return s.allowed_hosts && std::any_of(s.allowed_hosts->begin(), s.allowed_hosts->end(),
                                        [&](const std::string& allowed) { return matches(name, allowed); });
}

} // namespace

bool comes_from_another_site(const raw_request& r, const route_settings& s) {
  for (const auto& [name, value] : r.headers) {
    if (equal_ignoring_case(name, "Sec-Fetch-Site") && value != "same-origin" && value != "none")
      return true;
    if (!equal_ignoring_case(name, "Origin") || same_server(value, host_header(r)))
      continue;
    if (const auto name = host_of_origin(value); name.empty() || !is_allowed_name(name, s))
      return true;
  }
  return false;
}

response refuse_site() {
  return error_response(403, "This request comes from a web page of another origin, which must not change anything "
                             "here: see http_config.allowed_hosts");
}

bool may_call_by_host(const raw_request& r, const route_settings& s) {
  if (!s.allowed_hosts || r.remote_address.empty())
    return true;
  const auto host = host_header(r);
  if (host.empty())
    return true;
  const auto name = name_in(host);
  // No foreign page can have the last two; Consul's clients and local proxies send them by default.
  const auto is_usual = [&](std::string_view usual) { return equal_ignoring_case(name, usual); };
  return parse_ip(name) || is_usual("localhost") || is_usual("consul") || is_usual("consul.service.consul") ||
         (!s.node_name.empty() && equal_ignoring_case(name, s.node_name)) || is_allowed_name(name, s);
}

response refuse_host(const raw_request& r) {
  constexpr std::size_t shown_bytes_max = 255; // no name is longer
  return error_response(403, "This server does not accept the host name \"" +
                                 std::string(name_in(host_header(r)).substr(0, shown_bytes_max)) +
                                 "\": see http_config.allowed_hosts in its configuration");
}

} // namespace belay::http
