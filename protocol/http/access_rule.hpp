#pragma once
// Which permission a route needs (docs/contract/10, section 3). Every route states one for each of its methods: a route without does not
// compile. The matrix test asks each of them with each permission.

#include <cstdint>

namespace belay::http {

/// Who decides, and of what.
enum class access : std::uint8_t {
  nobody,   ///< no permission is needed, not even a token that is known
  by_state, ///< the state machine decides for the rows that are asked for (protocol/state/acl/permissions.hpp)
  by_agent, ///< the agent decides for the services and checks that are meant (protocol/agent/agent_permissions.hpp)
  // These are asked of the token before anything else is done; names are those of this server's node.
  agent_read,
  agent_write,
  node_write,
  operator_read,
  operator_write,
  keyring_read,
  keyring_write,
  acl_read,
  acl_write,
  coordinate_write, ///< node write for the node whose coordinate the request brings
  members,          ///< rows are left out whose node may not be read
};

/// Of each method of a route; those that it has not do not matter.
struct access_rule {
  access get, put, remove, post;

  /// The same for all methods.
  constexpr access_rule(access all) : get(all), put(all), remove(all), post(all) {}
  /// Of routes that are read by GET and written by everything else.
  constexpr access_rule(access reads, access writes) : get(reads), put(writes), remove(writes), post(writes) {}
};

} // namespace belay::http
