#include "protocol/http/operators/health_report.hpp"

#include "protocol/base/mutants.hpp"
#include "protocol/go_compat/duration.hpp"
#include "protocol/go_compat/json_output.hpp"
#include "protocol/go_compat/timestamp.hpp"

#include <algorithm>

namespace belay::http {

namespace {

// The texts begin with one of these; other versions send and expect the same.
constexpr std::string_view all_healthy = "{\"Healthy\":true";
constexpr std::string_view not_all_healthy = "{\"Healthy\":false";

void append_server(std::string& out, const server_health& s) {
  using namespace go_compat;
  out += '{';
  append_json_member(out, "ID", s.id);
  append_json_member(out, "Name", s.name);
  append_json_member(out, "Address", s.address);
  append_json_member(out, "SerfStatus", s.alive ? "alive" : "failed");
  append_json_member(out, "Version", s.version);
  append_json_name(out, "Leader");
  append_bool(out, s.leader);
  append_json_member(out, "LastContact", format_duration(s.last_contact));
  append_json_number_member(out, "LastTerm", s.last_term.value);
  append_json_number_member(out, "LastIndex", s.last_index.value);
  append_json_name(out, "Healthy");
  append_bool(out, s.healthy);
  append_json_name(out, "Voter");
  append_bool(out, s.voter);
  append_json_member(out, "StableSince",
                     format_timestamp({std::chrono::sys_seconds{std::chrono::seconds(s.stable_since_ms / 1000)}}));
  append_json_number_member(out, "FeatureLevel", s.level);
  append_json_name(out, "DiskFull");
  append_bool(out, s.disk_full);
  out += '}';
}

} // namespace

health_report report_on(std::vector<server_health> servers, std::size_t voters) {
  const auto quorum = voters / 2 + 1;
  const auto healthy = std::count_if(servers.begin(), servers.end(), [](const auto& s) { return s.healthy; });
  const auto healthy_voters = static_cast<std::size_t>(std::count_if(servers.begin(), servers.end(), [](const auto& s) {
    return (s.healthy || MUTANT(sick_voters_counted)) && s.voter;
  }));
  return {static_cast<std::size_t>(healthy) == servers.size(), healthy_voters > quorum ? healthy_voters - quorum : 0,
          std::move(servers)};
}

std::string render_health(const health_report& r) {
  std::string out(r.healthy ? all_healthy : not_all_healthy);
  out += ",\"FailureTolerance\":";
  go_compat::append_number(out, r.failure_tolerance);
  out += ",\"Servers\":[";
  for (const auto& s : r.servers) {
    if (&s != &r.servers.front())
      out += ',';
    append_server(out, s);
  }
  return out += "]}";
}

bool is_healthy_report(std::string_view rendered) {
  return rendered.starts_with(all_healthy);
}

} // namespace belay::http
