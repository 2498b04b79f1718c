#pragma once
// What policies, roles and tokens must be like in themselves, whatever else there is (docs/contract/10, section 5). Asked of commands and of
// the rows of archives.

#include "protocol/state/acl/acl_records.hpp"

namespace belay::state {

/// The rules of global-management, word for word as Consul has them.
extern const std::string_view management_rules_text;

// Each returns Consul's text; nullopt: nothing is wrong.

std::optional<std::string> policy_name_error(std::string_view name);
std::optional<std::string> role_name_error(std::string_view name);
std::optional<std::string> policy_error(const acl_policy& policy);
std::optional<std::string> role_error(const acl_role& role);
/// Of the identities of a token.
std::optional<std::string> identities_error(const acl_token& token);

/// Leaves each identity once, by name: of a service in all datacenters that were named, of a node for each datacenter.
void merge_identities(acl_role& role);
void merge_identities(acl_token& token);

} // namespace belay::state
