#pragma once
// The health of the servers, in autopilot's terms: the leader's result of forward::describe_health,
// and its JSON text, which is forwarded to the client (docs/contract/12).

#include "protocol/base/ids.hpp"
#include "protocol/state/feature_levels.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::http {

struct server_health {
  std::string id, name, address;
  bool alive = false; ///< the leader received something from it within 5 s
  std::string version;
  bool leader = false;
  std::chrono::nanoseconds last_contact{0}; ///< since the leader received something from it
  term_id last_term;                        ///< term of its last entry
  log_index last_index;
  bool healthy = false;
  bool voter = false;
  bool disk_full = false;            ///< by its last report: it cannot store what the leader sends
  std::uint64_t stable_since_ms = 0; ///< since 1970
  state::feature_level level = 0;    ///< by its last report to the leader; 0: none, or it has no level
};

struct health_report {
  bool healthy = false;              ///< all of them are
  std::size_t failure_tolerance = 0; ///< number of healthy voters that may fail without losing the quorum
  std::vector<server_health> servers;
};

/// @param voters in the configuration in force, healthy or not
health_report report_on(std::vector<server_health> servers, std::size_t voters);

std::string render_health(const health_report& r);

/// Whether a text of render_health() reports all servers healthy.
bool is_healthy_report(std::string_view rendered);

} // namespace belay::http
