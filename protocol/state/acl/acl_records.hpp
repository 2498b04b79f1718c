#pragma once
// Policies, roles and tokens: rows of the tables, immutable once
// stored (docs/contract/10). Also auth_context, the token of a request.

#include "protocol/acl/rules.hpp"
#include "protocol/base/ids.hpp"
#include "protocol/base/secrets.hpp"
#include "protocol/state/fields.hpp"
#include "protocol/state/tags.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::state {

/// Consul's, for the policy that grants everything, and for requests without a token.
inline constexpr std::string_view management_policy_id = "00000000-0000-0000-0000-000000000001";
inline constexpr std::string_view management_policy_name = "global-management";
inline constexpr std::string_view anonymous_accessor = "00000000-0000-0000-0000-000000000002";
inline constexpr std::string_view anonymous_secret = "anonymous";
/// Tokens not created by a token request: from `acl.tokens.master`, and by a bootstrap.
inline constexpr std::string_view master_description = "Master Token";
inline constexpr std::string_view bootstrap_description = "Bootstrap Token (Global Management)";

struct acl_policy {
  static constexpr table in = table::acl_policies;

  std::string id; ///< lower-case UUID
  std::string name;
  std::string description;
  std::string rules;                                   ///< as written: HCL or JSON
  std::optional<std::vector<std::string>> datacenters; ///< where it applies; nullopt or empty: everywhere
  log_index create_index, modify_index;
  /// The parsed `rules`; never null in a table. Computed with the row, not part of it.
  std::shared_ptr<const acl::rules> meaning;
};
using acl_policy_ptr = std::shared_ptr<const acl_policy>;
template <>
inline constexpr auto fields_of<acl_policy> = std::tuple{
    field<&acl_policy::id, "ID">{},
    field<&acl_policy::name, "Name">{},
    field<&acl_policy::description, "Description">{},
    field<&acl_policy::rules, "Rules">{},
    field<&acl_policy::datacenters, "Datacenters">{},
    field<&acl_policy::create_index, "CreateIndex">{},
    field<&acl_policy::modify_index, "ModifyIndex">{},
    field<&acl_policy::meaning, "", as::derived>{}, // `rules`, parsed
};

struct service_identity {
  std::string service_name;
  std::optional<std::vector<std::string>> datacenters; ///< where it applies; nullopt or empty: everywhere
  bool operator==(const service_identity&) const = default;
};
template <>
inline constexpr auto fields_of<service_identity> = std::tuple{
    field<&service_identity::service_name, "ServiceName">{},
    field<&service_identity::datacenters, "Datacenters", as::omit_empty>{},
};

struct node_identity {
  std::string node_name;
  std::string datacenter;
  bool operator==(const node_identity&) const = default;
};
template <>
inline constexpr auto fields_of<node_identity> = std::tuple{
    field<&node_identity::node_name, "NodeName">{},
    field<&node_identity::datacenter, "Datacenter">{},
};

struct acl_role {
  static constexpr table in = table::acl_roles;

  std::string id; ///< lower-case UUID
  std::string name;
  std::string description;
  std::vector<std::string> policies; ///< IDs; removed policies stay listed, without effect (acl_table::policy)
  std::vector<service_identity> service_identities;
  std::vector<node_identity> node_identities;
  log_index create_index, modify_index;
};
using acl_role_ptr = std::shared_ptr<const acl_role>;
template <>
inline constexpr auto fields_of<acl_role> = std::tuple{
    field<&acl_role::id, "ID">{},
    field<&acl_role::name, "Name">{},
    field<&acl_role::description, "Description">{},
    field<&acl_role::policies>{},
    field<&acl_role::service_identities, "ServiceIdentities", as::omit_empty>{},
    field<&acl_role::node_identities, "NodeIdentities", as::omit_empty>{},
    field<&acl_role::create_index, "CreateIndex">{},
    field<&acl_role::modify_index, "ModifyIndex">{},
};

struct acl_token {
  static constexpr table in = table::acl_tokens;

  std::string accessor; ///< UUID as the client wrote it, public. The row's key is the same in lower case
  std::string secret;   ///< sent with requests. A UUID, or the value of `acl.tokens.master`
  std::string description;
  std::vector<std::string> policies, roles; ///< IDs
  std::vector<service_identity> service_identities;
  std::vector<node_identity> node_identities;
  bool local = false;                  ///< shown only: there is one datacenter
  std::int64_t create_time_ns = 0;     ///< wall clock, since 1970
  std::int64_t expiration_time_ns = 0; ///< wall clock, since 1970, as shown; 0: never
  cluster_time expires;                ///< invalid from then on; zero: never
  log_index create_index, modify_index;
};
using acl_token_ptr = std::shared_ptr<const acl_token>;
template <>
inline constexpr auto fields_of<acl_token> = std::tuple{
    field<&acl_token::accessor, "AccessorID">{},
    field<&acl_token::secret, "SecretID">{},
    field<&acl_token::description, "Description">{},
    field<&acl_token::policies>{},
    field<&acl_token::roles>{},
    field<&acl_token::service_identities, "ServiceIdentities", as::omit_empty>{},
    field<&acl_token::node_identities, "NodeIdentities", as::omit_empty>{},
    field<&acl_token::local, "Local">{},
    field<&acl_token::create_time_ns>{},
    field<&acl_token::expiration_time_ns>{},
    field<&acl_token::expires>{},
    field<&acl_token::create_index, "CreateIndex">{},
    field<&acl_token::modify_index, "ModifyIndex">{},
};

/// What a request is authorized by, where ACLs are on. Travels with commands through the log.
struct auth_context {
  std::string secret;              ///< secret of the token; `anonymous_secret` if the request had none
  bool allowed_by_default = false; ///< `acl.default_policy` of the server that got the request
  std::string datacenter;          ///< datacenter of that server: decides which policies apply

  /// Takes constant time, so that it reveals nothing of the secret.
  bool operator==(const auth_context& other) const {
    const bool same = secret.empty() ? other.secret.empty() : is_secret(other.secret, secret);
    return same && allowed_by_default == other.allowed_by_default && datacenter == other.datacenter;
  }
};
template <>
inline constexpr auto fields_of<auth_context> = std::tuple{
    field<&auth_context::secret>{},
    field<&auth_context::allowed_by_default>{},
    field<&auth_context::datacenter>{},
};

} // namespace belay::state
