#include "protocol/state/claims/claim_records.hpp"

namespace belay::state {

std::string resource_key(claim_space space, std::string_view name) {
  std::string key;
  key.reserve(name.size() + 2 + claim_id_bytes_max);
  key.push_back(space == claim_space::claims ? 'c' : 'k');
  key += name;
  key.push_back('\0');
  return key;
}

std::string claim_key(claim_space space, std::string_view name, std::string_view id) {
  return resource_key(space, name).append(id);
}

std::string ghost_key(claim_space space, std::string_view name, std::uint64_t fence) {
  return resource_key(space, name).append(std::to_string(fence));
}

} // namespace belay::state
