#pragma once
// How the servers are, in autopilot's words: what the leader answers to forward::describe_health, and the JSON text of
// it that travels to the asking node and from there to the client (docs/contract/12).

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
  bool alive = false; ///< the leader has received from it within 5 s
  std::string version;
  bool leader = false;
  std::chrono::nanoseconds last_contact{0}; ///< since the leader heard from it
  term_id last_term;                        ///< of its last entry
  log_index last_index;
  bool healthy = false;
  bool voter = false;
  bool disk_full = false;            ///< as it last said: it cannot store what the leader sends
  std::uint64_t stable_since_ms = 0; ///< since 1970
  state::feature_level level = 0;    ///< as it last said to the leader; 0: it has not, or has none
};

struct health_report {
  bool healthy = false;              ///< all of them are
  std::size_t failure_tolerance = 0; ///< so many healthy voters may fail, and there still is a quorum
  std::vector<server_health> servers;
};

/// @param voters in the configuration now in force, healthy or not
health_report report_on(std::vector<server_health> servers, std::size_t voters);

std::string render_health(const health_report& r);

/// What a text of render_health() says of all servers.
bool says_healthy(std::string_view rendered);

} // namespace belay::http
