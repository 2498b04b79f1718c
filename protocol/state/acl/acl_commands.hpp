#pragma once
// Commands and queries about policies, roles and tokens (docs/contract/10).
// Ids, secrets and times in commands are fixed before they are proposed.

#include "protocol/acl/authorizer.hpp"
#include "protocol/state/acl/acl_records.hpp"

#include <map>
#include <variant>

namespace belay::state {

/// A policy or role as clients name it: by `id` or, if that is empty, by `name`.
struct acl_link {
  std::string id, name;
  bool operator==(const acl_link&) const = default;
};
template <>
inline constexpr auto fields_of<acl_link> = std::tuple{
    field<&acl_link::id, "ID">{},
    field<&acl_link::name, "Name">{},
};

// ---- commands. Those that create or change a row reply with it, as acl_row, the others with true

/// Creates what is missing: the policy global-management, the anonymous token and, if a new secret
/// is given, a management token (`acl.tokens.master`). Proposed by the leader. Replies true.
struct acl_initialize {
  static constexpr command_tag tag = command_tag::acl_initialize;

  std::string master_secret;   ///< empty: none
  std::string master_accessor; ///< a fresh UUID
  std::int64_t time_ns = 0;    ///< current wall-clock time
};
template <>
inline constexpr auto fields_of<acl_initialize> = std::tuple{
    field<&acl_initialize::master_secret>{},
    field<&acl_initialize::master_accessor>{},
    field<&acl_initialize::time_ns>{},
};

/// The first management token. Only once, and again for each `reset_index` equal to the last index.
struct acl_bootstrap {
  static constexpr command_tag tag = command_tag::acl_bootstrap;

  std::string accessor, secret; ///< fresh UUIDs
  std::int64_t time_ns = 0;
  log_index reset_index; ///< from the file `acl-bootstrap-reset`; zero: none
};
template <>
inline constexpr auto fields_of<acl_bootstrap> = std::tuple{
    field<&acl_bootstrap::accessor>{},
    field<&acl_bootstrap::secret>{},
    field<&acl_bootstrap::time_ns>{},
    field<&acl_bootstrap::reset_index>{},
};

struct acl_policy_set {
  static constexpr command_tag tag = command_tag::acl_policy_set;

  acl_policy policy;  ///< its indexes and meaning are ignored; `id` is fresh if it is created
  bool fresh = false; ///< create it; else replace the one with its id
};
template <>
inline constexpr auto fields_of<acl_policy_set> = std::tuple{
    field<&acl_policy_set::policy>{},
    field<&acl_policy_set::fresh>{},
};

struct acl_policy_delete {
  static constexpr command_tag tag = command_tag::acl_policy_delete;

  std::string id;
};
template <>
inline constexpr auto fields_of<acl_policy_delete> = std::tuple{field<&acl_policy_delete::id>{}};

struct acl_role_set {
  static constexpr command_tag tag = command_tag::acl_role_set;

  acl_role role;                  ///< its policies and indexes are ignored; `id` is fresh if it is created
  std::vector<acl_link> policies; ///< resolved by apply()
  bool fresh = false;
};
template <>
inline constexpr auto fields_of<acl_role_set> = std::tuple{
    field<&acl_role_set::role>{},
    field<&acl_role_set::policies>{},
    field<&acl_role_set::fresh>{},
};

struct acl_role_delete {
  static constexpr command_tag tag = command_tag::acl_role_delete;

  std::string id;
};
template <>
inline constexpr auto fields_of<acl_role_delete> = std::tuple{field<&acl_role_delete::id>{}};

struct acl_token_set {
  static constexpr command_tag tag = command_tag::acl_token_set;

  /// Its policies, roles, indexes and `expires` are ignored. A new token has an accessor and a
  /// secret, the client's or fresh ones. For a replacement the secret is empty or the current one.
  acl_token token;
  std::vector<acl_link> policies, roles; ///< resolved by apply()
  std::int64_t lives_ns = 0;             ///< lifetime from apply() on, for `expires`; 0: unlimited
  bool fresh = false;
};
template <>
inline constexpr auto fields_of<acl_token_set> = std::tuple{
    field<&acl_token_set::token>{},    field<&acl_token_set::policies>{}, field<&acl_token_set::roles>{},
    field<&acl_token_set::lives_ns>{}, field<&acl_token_set::fresh>{},
};

/// A new token with the permissions of an existing one.
struct acl_token_clone {
  static constexpr command_tag tag = command_tag::acl_token_clone;

  std::string of;                         ///< accessor
  std::string accessor, secret;           ///< fresh UUIDs
  std::optional<std::string> description; ///< nullopt: that of the original
  std::int64_t time_ns = 0;
};
template <>
inline constexpr auto fields_of<acl_token_clone> = std::tuple{
    field<&acl_token_clone::of>{},          field<&acl_token_clone::accessor>{}, field<&acl_token_clone::secret>{},
    field<&acl_token_clone::description>{}, field<&acl_token_clone::time_ns>{},
};

struct acl_token_delete {
  static constexpr command_tag tag = command_tag::acl_token_delete;

  std::string accessor;
};
template <>
inline constexpr auto fields_of<acl_token_delete> = std::tuple{field<&acl_token_delete::accessor>{}};

// ---- replies, and queries

/// A row as shown to clients: with its linked policies and roles and their current names.
struct acl_row {
  std::variant<acl_policy_ptr, acl_role_ptr, acl_token_ptr> row; ///< the position is the number in bytes
  std::vector<acl_link> policies, roles;
};
/// A result. The secrets of its tokens may be shown only if `shows_secrets`.
struct acl_rows {
  std::vector<acl_row> list;
  bool shows_secrets = false;
};

/// By id or, if that is empty, by name. Returns at most one row.
struct acl_policy_read {
  acl_link which;
  bool operator==(const acl_policy_read&) const = default;
};
struct acl_policy_list {
  bool operator==(const acl_policy_list&) const = default;
};
/// By id or, if that is empty, by name.
struct acl_role_read {
  acl_link which;
  bool operator==(const acl_role_read&) const = default;
};
struct acl_role_list {
  std::string policy; ///< ID; empty: all roles
  bool operator==(const acl_role_list&) const = default;
};
struct acl_token_read {
  std::string accessor;
  bool operator==(const acl_token_read&) const = default;
};
/// The requester's own token, with its secret.
struct acl_token_self {
  bool operator==(const acl_token_self&) const = default;
};
struct acl_token_list {
  std::string policy, role; ///< IDs; empty: all tokens
  bool operator==(const acl_token_list&) const = default;
};
/// `GET /v1/acl/list` from before Consul 1.4 (docs/contract/10, section 5.5): tokens
/// from the configuration and from a bootstrap, with their secrets. Needs `acl` write.
struct acl_legacy_list {
  bool operator==(const acl_legacy_list&) const = default;
};

/// One question of permissions_read. `name` is empty for permissions without one (`operator`,
/// `keyring`, `acl`). For `session_owner` it is a session's ID, and the session's node decides. If
/// the session is unknown everything is allowed, so that the response can say so.
struct permission_needed {
  enum class of : std::uint8_t {
    agent,
    key,
    node,
    service,
    session,
    session_owner,
    event,
    query,
    operators,
    keyring,
    acl
  };
  of what = of::operators;
  acl::permission level = acl::permission::read;
  std::string name;
  bool tree = false; ///< for keys: everything that begins with `name` (docs/contract/10, section 4)

  bool operator==(const permission_needed&) const = default;
};
/// The requester's permissions, for decisions outside the state machine: agents, operators,
/// archives. A refusal if there is no such token. Without ACLs everything is allowed.
struct permissions_read {
  std::vector<permission_needed> requested;
  bool rules_too = false; ///< for a client agent, which authorizes requests about its own services and checks by them
  bool operator==(const permissions_read&) const = default;
};
struct permissions {
  std::vector<bool> allowed; ///< for each question, in order
  /// Use it for further checks at once; do not keep it, as any entry may change a token's
  /// permissions. Null: ACLs are off.
  std::shared_ptr<const acl::authorizer> may = {};
  acl_token_ptr token = {};           ///< the requester's; null: ACLs are off
  std::vector<acl::rules> rules = {}; ///< rules_too: those of all its policies, roles and identities
};

} // namespace belay::state
