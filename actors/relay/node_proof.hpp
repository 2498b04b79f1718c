#pragma once
// What servers store about the secret of a client agent's node (docs/operate/security.md, B3).

#include "protocol/state/records.hpp"

#include <string>
#include <string_view>

namespace belay::actors {

/// SHA-256 of the secret, in hexadecimal; empty for an empty secret.
std::string proof_of(std::string_view secret);

/// Metadata of the agent's own row in the catalog. The agent writes the same as the servers, so
/// that neither overwrites the other.
state::string_map with_proof(state::string_map meta, std::string_view secret);

} // namespace belay::actors
