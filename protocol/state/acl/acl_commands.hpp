#pragma once
// What can be written and read of policies, roles and tokens (docs/contract/10). Ids, secrets and times in commands were
// fixed before they were proposed.

#include "protocol/acl/authorizer.hpp"
#include "protocol/state/acl/acl_records.hpp"

#include <map>
#include <variant>

namespace belay::state {

/// A policy or a role as a client names it: by `id` or, if that is empty, by `name`.
struct acl_link {
  std::string id, name;
  bool operator==(const acl_link&) const = default;
};
template <>
inline constexpr auto fields_of<acl_link> = std::tuple{
    field<&acl_link::id, "ID">{},
    field<&acl_link::name, "Name">{},
};

// ---- commands. Those that make or change a row answer an acl_row, those that remove one true.

/// Makes what ACLs need where it is not there: the policy global-management, the anonymous token and, if a secret is
/// given that no token has, a token that may do everything (`acl.tokens.master`). Proposed by the leader. Answers true.
struct acl_initialize {
  static constexpr command_tag tag = command_tag::acl_initialize;

  std::string master_secret;   ///< empty: none
  std::string master_accessor; ///< a fresh UUID
  std::int64_t time_ns = 0;    ///< now, of the wall clock
};
template <>
inline constexpr auto fields_of<acl_initialize> = std::tuple{
    field<&acl_initialize::master_secret>{},
    field<&acl_initialize::master_accessor>{},
    field<&acl_initialize::time_ns>{},
};

/// The first token that may do everything. Only once, and once more for each `reset_index` that is the index of the last time.
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

  acl_policy policy;  ///< its indexes and meaning do not matter; `id` is fresh when it is made
  bool fresh = false; ///< it is to be made; else the one with its id is replaced
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

  acl_role role;                  ///< its policies and indexes do not matter; `id` is fresh when it is made
  std::vector<acl_link> policies; ///< resolved when it is applied
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

  /// Its policies, roles, indexes and `expires` do not matter. Made: accessor and secret are there, chosen by the client or fresh.
  /// Replaced: the secret is empty, or the one it has.
  acl_token token;
  std::vector<acl_link> policies, roles; ///< resolved when it is applied
  std::int64_t lives_ns = 0;             ///< from when it is applied, for `expires`; 0: for ever
  bool fresh = false;
};
template <>
inline constexpr auto fields_of<acl_token_set> = std::tuple{
    field<&acl_token_set::token>{},    field<&acl_token_set::policies>{}, field<&acl_token_set::roles>{},
    field<&acl_token_set::lives_ns>{}, field<&acl_token_set::fresh>{},
};

/// A new token that may do what another one may.
struct acl_token_clone {
  static constexpr command_tag tag = command_tag::acl_token_clone;

  std::string of;                         ///< accessor
  std::string accessor, secret;           ///< fresh UUIDs
  std::optional<std::string> description; ///< nullopt: that of the other one
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

// ---- what they answer, and reads

/// A row with what clients see beside it: the policies and roles it is linked to, with their names as they are now.
struct acl_row {
  std::variant<acl_policy_ptr, acl_role_ptr, acl_token_ptr> row; ///< the place is the number in bytes
  std::vector<acl_link> policies, roles;
};
/// An answer to a read. The secrets of its tokens are to be shown only if `shows_secrets`.
struct acl_rows {
  std::vector<acl_row> list;
  bool shows_secrets = false;
};

/// By id or, if that is empty, by name. Answers at most one row.
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
/// The token in whose name it is asked, with its secret.
struct acl_token_self {
  bool operator==(const acl_token_self&) const = default;
};
struct acl_token_list {
  std::string policy, role; ///< IDs; empty: all tokens
  bool operator==(const acl_token_list&) const = default;
};
/// What `GET /v1/acl/list` of before Consul 1.4 shows (docs/contract/10, section 5.5): tokens from the configuration and from a bootstrap,
/// with their secrets. Needs `acl` write.
struct acl_legacy_list {
  bool operator==(const acl_legacy_list&) const = default;
};

/// One question of permissions_read. Of what names nothing (`operator`, `keyring`, `acl`), `name` is empty. Of
/// `session_owner` it is the ID of a session, and the node to which that belongs is meant; of an unknown session everything is
/// allowed, so that its answer says that it is unknown.
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
  bool tree = false; ///< of keys: everything that begins with `name` (docs/contract/10, section 4)

  bool operator==(const permission_needed&) const = default;
};
/// What the token in whose name it is asked may do: asked by whoever decides outside of the state machine, about agents,
/// operators and archives. A refusal if there is no such token. Where ACLs are not in force everything is allowed.
struct permissions_read {
  std::vector<permission_needed> asked;
  bool rules_too = false; ///< for a client agent, which decides by them about its own services and checks
  bool operator==(const permissions_read&) const = default;
};
struct permissions {
  std::vector<bool> allowed; ///< for each question, in their order
  /// For whoever has more to ask, now and not later: what is said of a token can change with every entry. Null: ACLs are not in
  /// force.
  std::shared_ptr<const acl::authorizer> may = {};
  acl_token_ptr token = {};           ///< of him in whose name it was asked; null: ACLs are not in force
  std::vector<acl::rules> rules = {}; ///< rules_too: those of all his policies, roles and identities
};

} // namespace belay::state
