#pragma once
// The permission that a route needs (docs/contract/10, section 3). A route that does not declare
// one for each method does not compile. The matrix test requests every route with every permission.

#include <cstdint>

namespace belay::http {

/// What decides whether a request is permitted, and which name it checks.
enum class access : std::uint8_t {
  unrestricted, ///< no permission is needed, not even a known token
  by_state,     ///< the state machine, for the rows requested (protocol/state/acl/permissions.hpp)
  by_agent,     ///< the agent, for its services and checks (protocol/agent/agent_permissions.hpp)
  // Checked with the token before anything else; names are those of this server's node.
  agent_read,
  agent_write,
  node_write,
  operator_read,
  operator_write,
  keyring_read,
  keyring_write,
  acl_read,
  acl_write,
  coordinate_write, ///< node write for the node of the coordinate
  members,          ///< filters rows whose node may not be read
};

/// The rule for each method of a route; values for other methods are ignored.
struct access_rule {
  access get, put, remove, post;

  /// The same for all methods.
  constexpr access_rule(access all) : get(all), put(all), remove(all), post(all) {}
  /// The rule of routes that GET reads and all other methods write.
  constexpr access_rule(access reads, access writes) : get(reads), put(writes), remove(writes), post(writes) {}
};

} // namespace belay::http
