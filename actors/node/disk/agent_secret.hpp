#pragma once
// The secret of a client agent's node, needed to report that the node is alive, moves, or leaves.
// The servers keep a hash of it in the node's metadata (protocol/agent/client_agents.hpp).

#include "protocol/base/result.hpp"
#include "storage/file_system.hpp"

#include <string>

namespace belay::actors {

/// The file `node-secret` of the data directory, created at the first start: 256 random bits in
/// hexadecimal, for its owner only. @returns a failure with advice: damaged, no permission.
result<std::string> open_agent_secret(const std::string& data_dir,
                                      storage::file_system& files = storage::posix_file_system());

} // namespace belay::actors
