#include "protocol/agent/definitions.hpp"

#include "protocol/agent/metadata.hpp"
#include "protocol/agent/probe_request.hpp"

#include <algorithm>
#include <array>

namespace belay::agent {

namespace {

bool is_alias(const check_definition& c) {
  return !c.alias_node.empty() || !c.alias_service.empty();
}
bool has_interval_kind(const check_definition& c) {
  return !c.args.empty() || !c.http.empty() || !c.tcp.empty() || !c.grpc.empty();
}

bool is_ipv4(std::string_view a) {
  return !a.empty() && a.find_first_not_of("0123456789.") == std::string_view::npos &&
         std::count(a.begin(), a.end(), '.') == 3;
}
bool is_ipv6(std::string_view a) {
  return std::count(a.begin(), a.end(), ':') >= 2 &&
         a.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
}

/// Adds the address as tagged addresses, unless those were given.
void tag_address(state::service_record& s) {
  const char* suffix = is_ipv4(s.address) ? "_ipv4" : is_ipv6(s.address) ? "_ipv6" : nullptr;
  if (suffix == nullptr)
    return;
  if (!s.tagged_addresses)
    s.tagged_addresses.emplace();
  for (const char* network : {"lan", "wan"})
    s.tagged_addresses->try_emplace(std::string(network) + suffix, state::service_address{s.address, s.port});
}

} // namespace

check_kind kind_of(const check_definition& c) {
  if (c.maintenance)
    return check_kind::maintenance;
  if (!c.http.empty())
    return check_kind::http;
  if (!c.args.empty())
    return check_kind::script;
  if (!c.tcp.empty())
    return check_kind::tcp;
  if (!c.grpc.empty())
    return check_kind::grpc;
  return is_alias(c) ? check_kind::alias : check_kind::ttl;
}

std::string_view name_of(check_kind k) {
  constexpr std::array<std::string_view, 7> names = {"ttl", "http", "tcp", "script", "alias", "maintenance", "grpc"};
  static_assert(names.size() == static_cast<std::size_t>(check_kind::grpc) + 1);
  return names[static_cast<std::size_t>(k)];
}

std::optional<std::string> complaint_of(const check_definition& c) {
  const bool interval_kind = has_interval_kind(c);
  if (c.interval_ns > 0 && c.ttl_ns > 0)
    return "Interval and TTL cannot both be specified";
  if (interval_kind && c.interval_ns <= 0)
    return "Interval must be > 0 for Script, HTTP, or TCP checks";
  if (interval_kind && is_alias(c))
    return "Interval cannot be set for Alias checks";
  if (is_alias(c) && c.ttl_ns > 0)
    return "TTL must be not be set for Alias checks";
  if (!interval_kind && !is_alias(c) && c.ttl_ns <= 0)
    return "TTL must be > 0 for TTL checks";
  if (c.output_bytes_max < 0)
    return "MaxOutputMaxSize must be positive";
  return request_complaint_of(c);
}

bool is_status(std::string_view text) {
  return text == "passing" || text == "warning" || text == "critical";
}

std::optional<std::string> complete(service_definition& d) {
  auto& s = d.service;
  if (s.service.empty())
    return "Missing service name";
  if (s.id.empty())
    s.id = s.service;
  if (s.address == "0.0.0.0" || s.address == "::" || s.address == "[::]")
    return "Invalid service address";
  if (s.weights.passing < 1)
    return "Invalid Weights: Passing must be greater than 0";
  if (s.weights.warning < 0)
    return "Invalid Weights: Warning must be greater or equal than 0";
  if (s.weights.passing > 65535 || s.weights.warning > 65535)
    return "Invalid Weights: DNS Weight must be between 0 and 65535";
  if (s.meta)
    if (auto why = metadata_complaint(*s.meta))
      return "Invalid Service Meta: " + *why;
  for (const auto& c : d.checks)
    if (auto why = complaint_of(c))
      return "Invalid check: " + *why;
  for (const auto& c : d.checks)
    if (!c.status.empty() && !is_status(c.status))
      return "Status for checks must 'passing', 'warning', 'critical'";
  tag_address(s);
  return std::nullopt;
}

void name_checks(service_definition& s) {
  int number = 0;
  for (auto& c : s.checks) {
    ++number;
    c.service_id = s.service.id;
    if (c.id.empty())
      c.id = "service:" + s.service.id + (s.checks.size() > 1 ? ":" + std::to_string(number) : std::string());
    if (c.token.empty())
      c.token = s.token;
    if (c.name.empty())
      c.name = "Service '" + s.service.service + "' check";
  }
}

} // namespace belay::agent
