#pragma once
// Validation of single policies, roles and tokens, regardless of other rows
// (docs/contract/10, section 5). Used for commands and for the rows of archives.

#include "protocol/state/acl/acl_records.hpp"

namespace belay::state {

/// The rules of global-management, verbatim from Consul.
extern const std::string_view management_rules_text;

// Each returns Consul's text; nullopt: valid.

std::optional<std::string> policy_name_error(std::string_view name);
std::optional<std::string> role_name_error(std::string_view name);
std::optional<std::string> policy_error(const acl_policy& policy);
std::optional<std::string> role_error(const acl_role& role);
/// The error in the identities of a token.
std::optional<std::string> identities_error(const acl_token& token);

/// Merges duplicate identities by name: services over all named datacenters, nodes by datacenter.
void merge_identities(acl_role& role);
void merge_identities(acl_token& token);

} // namespace belay::state
