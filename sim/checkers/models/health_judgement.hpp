#pragma once
// Whether an answer of /v1/operator/autopilot/health says what is so. Apart from who asks (autopilot_checker), because it needs no actors.

#include "protocol/raft/types.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::sim {

/// What has to be told of one member.
struct member_truth {
  raft::member who;
  bool well = false; ///< it can be reached, has what the others have, and takes writes
  bool leader = false;
  bool voter = false;
};

/// Rules (docs/contract/12; docs/operations.md): the members of the configuration are listed, each once, with what they are;
/// one leads; who cannot be reached is `failed`, who cannot be reached or has a full disk is not healthy; all together
/// are healthy if each is; and so many healthy voters may fail as there are above a quorum.
/// @returns what is wrong with the answer, the JSON of /v1/operator/autopilot/health; nullopt: nothing
std::optional<std::string> judge_health(std::string_view json, const std::vector<member_truth>& members);

} // namespace belay::sim
