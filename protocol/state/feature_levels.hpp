#pragma once
// Feature levels: which kinds of commands a server understands. A server sends its level
// in its hello. A kind is proposed only when all members have its level, so two versions
// can run together during an upgrade. New kinds are rows in newer_kinds, new tables in
// newer_tables, new levels in level_versions; docs/operate/operations.md has the operator's view.

#include "protocol/state/tags.hpp"

#include <array>
#include <string_view>

namespace belay::state {

using feature_level = std::uint16_t;

/// The level of this program. Servers that predate levels have level 0.
inline constexpr feature_level own_level = 8;

/// Not a command: frames about keyrings (protocol/forward/keyring.hpp) need this level.
inline constexpr feature_level keyring_level = 2;

/// Policies, roles and tokens, and commands on behalf of a token.
inline constexpr feature_level acl_level = 3;

/// Commands with an authorization decision. The leader omits it until all members have the level.
inline constexpr feature_level authorization_level = 4;

/// Claims, queued acquires, write guards, fencing checks, sessions with exact TTLs or OnEnd.
inline constexpr feature_level claims_level = 5;

/// Writes that take effect once (Idempotency-Key), and counters: the verb `add`.
inline constexpr feature_level exactly_once_level = 6;

/// Session expiries that a restore voids. Not used until all members have the level.
inline constexpr feature_level expiry_level = 7;

/// Not a command: when all members have this level, servers return cursors that name
/// their history (docs/reference/changes.md). A server below it cannot read such a cursor.
inline constexpr feature_level named_history_level = 8;

/// Commands about claims and guards carry their client's network. Ends of such claims are kept for
/// ten minutes. After a limit is unset, the next claim sets it. Clients have shares of the guards
/// (docs/reference/claims.md, rules 3, 7, 34). So do commands with later effects: a waiting claim
/// and a session's OnEnd are authorized again then (rules 19, 33). A new token keeps its accessor's
/// capitals (docs/contract/10-acl.md). The leader omits the address until all have the level.
inline constexpr feature_level client_address_level = 8;

/// Waits for locks of keys are withdrawn after their clients disconnect (docs/reference/claims.md, rule 24).
/// While some server is below this level, such a wait stays queued until its deadline, as in 0.2.0.
inline constexpr feature_level disconnect_level = 8;

/// Not a command: a server whose log has an entry of this level may write segments that servers
/// below it cannot read (storage/log/sector_format.hpp).
inline constexpr feature_level sector_log_level = 8;

/// The first version that has a level. Every command of that level carries
/// it, so that an older program can report which version to install.
struct level_version {
  feature_level level;
  std::string_view version;
};
inline constexpr auto level_versions = std::to_array<level_version>({
    {0, "0.1.0"},
    {1, "0.1.0"},
    {2, "0.1.0"},
    {acl_level, "0.1.0"},
    {authorization_level, "0.1.0"},
    {claims_level, "0.2.0"},
    {exactly_once_level, "0.2.0"},
    {expiry_level, "0.2.0"},
    {named_history_level, "0.3.0"},
});
static_assert(level_versions.back().level == own_level);

/// The level that a kind of command needs. Kinds not listed need none.
struct kind_level {
  command_tag tag;
  feature_level level;
};
inline constexpr auto newer_kinds = std::to_array<kind_level>({
    {command_tag::acl_initialize, acl_level},
    {command_tag::acl_bootstrap, acl_level},
    {command_tag::acl_policy_set, acl_level},
    {command_tag::acl_policy_delete, acl_level},
    {command_tag::acl_role_set, acl_level},
    {command_tag::acl_role_delete, acl_level},
    {command_tag::acl_token_set, acl_level},
    {command_tag::acl_token_clone, acl_level},
    {command_tag::acl_token_delete, acl_level},
    {command_tag::on_behalf, acl_level},
    {command_tag::authorized_on_behalf, authorization_level},
    {command_tag::claim_ask, claims_level},
    {command_tag::claim_release, claims_level},
    {command_tag::claim_transfer, claims_level},
    {command_tag::claim_mode_set, claims_level},
    {command_tag::claim_limit_set, claims_level},
    {command_tag::claim_limit_unset, claims_level},
    {command_tag::guard_set, claims_level},
    {command_tag::guard_remove, claims_level},
    {command_tag::claims_alarm, claims_level},
    {command_tag::kv_acquire, claims_level},
    {command_tag::fenced_write, claims_level},
    {command_tag::fenced_txn, claims_level},
    {command_tag::session_begin, claims_level},
    {command_tag::once, exactly_once_level},
    {command_tag::counting, exactly_once_level},
    {command_tag::outcome_seal, exactly_once_level},
    {command_tag::session_expire, expiry_level},
    {command_tag::addressed, client_address_level},
    {command_tag::waits_withdraw, disconnect_level},
});

/// The level for rows of a table, which a restore brings into the log. Others need none.
struct table_level {
  table in;
  feature_level level;
};
inline constexpr auto newer_tables = std::to_array<table_level>({
    {table::acl_policies, acl_level},
    {table::acl_roles, acl_level},
    {table::acl_tokens, acl_level},
    {table::claims, claims_level},
    {table::claim_resources, claims_level},
    {table::claim_ghosts, claims_level},
    {table::claim_ends, claims_level},
    {table::guards, claims_level},
    {table::ended_sessions, claims_level},
    {table::outcomes, exactly_once_level},
});
static_assert(newer_tables.back().in == static_cast<table>(count_of<table> - 1),
              "which level do rows of the new table need?");

/// Whether a refusal text, from any server, says that some server is too old for a command.
inline bool speaks_of_levels(std::string_view refusal) {
  return refusal.find("feature level ") != std::string_view::npos;
}

constexpr feature_level level_of(command_tag tag) {
  for (const auto& k : newer_kinds)
    if (k.tag == tag)
      return k.level;
  return 0;
}

constexpr feature_level level_of(table in) {
  for (const auto& t : newer_tables)
    if (t.in == in)
      return t.level;
  return 0;
}

constexpr std::string_view first_version_of(feature_level level) {
  for (const auto& v : level_versions)
    if (v.level == level)
      return v.version;
  return "";
}

} // namespace belay::state
