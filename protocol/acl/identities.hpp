#pragma once
// Rules that nobody wrote: those of the services and nodes whose identity a token has, and of the policy
// global-management. docs/contract/10, sections 2 and 2.3.

#include "protocol/acl/rules.hpp"

#include <string_view>

namespace belay::acl {

/// What a token with the identity of a service may do: write the service and its sidecar proxy, read all services and
/// nodes. Whether `name` may be one is the caller's to check (lower-case letters, digits, - and _ in Consul).
rules rules_of_service_identity(std::string_view name);

/// What a token with the identity of a node may do: write the node, read all services.
rules rules_of_node_identity(std::string_view name);

/// The policy global-management: write on everything. A token may have it beside others, whose denials then count.
rules management_rules();

} // namespace belay::acl
