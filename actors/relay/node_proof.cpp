#include "actors/relay/node_proof.hpp"

#include "protocol/agent/client_agents.hpp"
#include "protocol/archive/sha256.hpp"

namespace belay::actors {

std::string proof_of(std::string_view secret) {
  return secret.empty() ? std::string() : archive::sha256().add(secret).hex();
}

state::string_map with_proof(state::string_map meta, std::string_view secret) {
  meta[std::string(agent::proof_of_agent)] = proof_of(secret);
  return meta;
}

} // namespace belay::actors
