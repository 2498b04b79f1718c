#pragma once
// Checks a response of /v1/operator/autopilot/health; without actors, unlike autopilot_checker.

#include "protocol/raft/types.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::sim {

/// The report that is expected for one member.
struct member_truth {
  raft::member who;
  bool well = false; ///< it is reachable, has what the others have, and takes writes
  bool leader = false;
  bool voter = false;
};

/// Rules (docs/contract/12; docs/operate/operations.md). Each member of the configuration is listed once,
/// with its role; one leads. Unreachable ones are `failed`; one that is unreachable or has a full
/// disk is unhealthy. All are healthy if each is. As many voters may fail as exceed a quorum.
/// @returns what is wrong with the JSON; nullopt: nothing
std::optional<std::string> check_health(std::string_view json, const std::vector<member_truth>& members);

} // namespace belay::sim
