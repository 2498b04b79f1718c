#pragma once
// Built-in rules: of service and node identities of tokens, and of
// the policy global-management. docs/contract/10, sections 2 and 2.3.

#include "protocol/acl/rules.hpp"

#include <string_view>

namespace belay::acl {

/// Rules of a service identity: write the service and its sidecar proxy, read all services
/// and nodes. The caller validates `name` (lower-case letters, digits, - and _ in Consul).
rules rules_of_service_identity(std::string_view name);

/// Rules of a node identity: write the node, read all services.
rules rules_of_node_identity(std::string_view name);

/// The policy global-management: write on everything. Denials in other policies still count.
rules management_rules();

} // namespace belay::acl
