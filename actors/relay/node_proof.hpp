#pragma once
// What servers store about the secret of a client agent's node (docs/operate/security.md, B3).

#include <string>
#include <string_view>

namespace belay::actors {

/// SHA-256 of the secret, in hexadecimal; empty for an empty secret.
std::string proof_of(std::string_view secret);

} // namespace belay::actors
