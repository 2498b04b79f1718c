#include "protocol/http/host_names.hpp"

#include "protocol/base/ascii_case.hpp"
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

/// Without port, brackets and the dot that ends an absolute name.
std::string_view name_in(std::string_view host) {
  if (!host.empty() && host.front() == '[')
    return host.substr(1, std::min(host.find(']'), host.size()) - 1);
  host = host.substr(0, host.find(':'));
  if (!host.empty() && host.back() == '.')
    host.remove_suffix(1);
  return host;
}

/// `.example.com` stands for all names below it.
bool matches(std::string_view name, std::string_view allowed) {
  if (!allowed.empty() && allowed.front() == '.')
    return name.size() > allowed.size() && equal_ignoring_case(name.substr(name.size() - allowed.size()), allowed);
  return equal_ignoring_case(name, allowed);
}

} // namespace

bool may_call_by_host(const raw_request& r, const route_settings& s) {
  if (!s.allowed_hosts || r.remote_address.empty())
    return true;
  const auto host = host_header(r);
  if (host.empty())
    return true;
  const auto name = name_in(host);
  return parse_ip(name) || equal_ignoring_case(name, "localhost") ||
         (!s.node_name.empty() && equal_ignoring_case(name, s.node_name)) ||
         std::any_of(s.allowed_hosts->begin(), s.allowed_hosts->end(),
                     [&](const std::string& allowed) { return matches(name, allowed); });
}

response refuse_host(const raw_request& r) {
  constexpr std::size_t shown_bytes_max = 255; // no name is longer
  return error_response(403, "This server may not be called \"" +
                                 std::string(name_in(host_header(r)).substr(0, shown_bytes_max)) +
                                 "\": see http_config.allowed_hosts in its configuration");
}

} // namespace belay::http
