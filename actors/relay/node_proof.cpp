#include "actors/relay/node_proof.hpp"

#include "protocol/archive/sha256.hpp"

namespace belay::actors {

std::string proof_of(std::string_view secret) {
  return secret.empty() ? std::string() : archive::sha256().add(secret).hex();
}

} // namespace belay::actors
