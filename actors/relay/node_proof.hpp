#pragma once
// What servers keep of the secret of a client agent's node (docs/security.md, B3).

#include <string>
#include <string_view>

namespace belay::actors {

/// SHA-256 of the secret, in hexadecimal. Of an empty secret empty.
std::string proof_of(std::string_view secret);

} // namespace belay::actors
