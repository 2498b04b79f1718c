#pragma once
// Feature levels: which kinds of commands a server understands. A server says its level in its hello; a kind that came
// with a level is proposed only when all members of the configuration are known to have that level, so that servers of
// two versions can run beside each other while one is replaced by the other. A new kind of command is a row in
// newer_kinds, a new table one in newer_tables, a new level a row in level_versions; docs/operations.md tells what operators see of it.

#include "protocol/state/tags.hpp"

#include <array>
#include <string_view>

namespace belay::state {

using feature_level = std::uint16_t;

/// The level of this program. Servers from before there were levels have level 0.
inline constexpr feature_level own_level = 8;

/// Not of a command: frames about keyrings (protocol/forward/keyring.hpp) are sent to servers of this level and above.
inline constexpr feature_level keyring_level = 2;

/// Policies, roles and tokens, and commands in somebody's name.
inline constexpr feature_level acl_level = 3;

/// Commands in somebody's name that come with a judgement. Nobody waits for this level: the leader leaves the judgement out until all have it.
inline constexpr feature_level judgement_level = 4;

/// Claims, acquires that wait, guards, fences that are checked, sessions with exact TTLs or with OnEnd.
inline constexpr feature_level claims_level = 5;

/// Writes that take effect once (Idempotency-Key), and counters: the verb `add`.
inline constexpr feature_level exactly_once_level = 6;

/// Ends of sessions that a restore makes void. Nobody waits for this level: the leader does without until all have it.
inline constexpr feature_level expiry_level = 7;

/// Not of a command: servers give clients cursors that name their history (docs/changes.md) when
/// all members have this level. A server below it cannot read such a cursor.
inline constexpr feature_level named_history_level = 8;

/// Commands about claims and guards carry the network of their client: the ends of such claims are kept for ten minutes, after a limit
/// is unset the next claim sets it, and each client has a share of the guards (docs/claims.md, rules 3, 7 and 34). So do commands that take
/// effect later: a waiting claim and the OnEnd of a session are judged again when they do (rules 19 and 33). And a new token
/// keeps the capital letters of its accessor (docs/contract/10-acl.md). No request waits for this level: the leader omits the address until
/// all members have it.
inline constexpr feature_level client_address_level = 8;

/// Waits for the locks of keys are withdrawn after their clients have disconnected (docs/claims.md, rule 24). While a server is below
/// this level, such a wait stays in its queue until its deadline, as in 0.2.0.
inline constexpr feature_level disconnect_level = 8;

/// The first version that has a level. It travels with every command of that level, so that an older program can tell
/// its operator what to install.
struct level_version {
  feature_level level;
  std::string_view version;
};
inline constexpr auto level_versions = std::to_array<level_version>({
    {0, "0.1.0"},
    {1, "0.1.0"},
    {2, "0.1.0"},
    {acl_level, "0.1.0"},
    {judgement_level, "0.1.0"},
    {claims_level, "0.2.0"},
    {exactly_once_level, "0.2.0"},
    {expiry_level, "0.2.0"},
    {named_history_level, "0.3.0"},
});
static_assert(level_versions.back().level == own_level);

/// The level that a kind of command needs. Those that are not listed need none.
struct kind_level {
  command_tag tag;
  feature_level level;
};
inline constexpr auto newer_kinds = std::to_array<kind_level>({
    {command_tag::acl_initialize, acl_level},         {command_tag::acl_bootstrap, acl_level},
    {command_tag::acl_policy_set, acl_level},         {command_tag::acl_policy_delete, acl_level},
    {command_tag::acl_role_set, acl_level},           {command_tag::acl_role_delete, acl_level},
    {command_tag::acl_token_set, acl_level},          {command_tag::acl_token_clone, acl_level},
    {command_tag::acl_token_delete, acl_level},       {command_tag::on_behalf, acl_level},
    {command_tag::judged_on_behalf, judgement_level}, {command_tag::claim_ask, claims_level},
    {command_tag::claim_release, claims_level},       {command_tag::claim_hand_over, claims_level},
    {command_tag::claim_mode_set, claims_level},      {command_tag::claim_limit_set, claims_level},
    {command_tag::claim_limit_unset, claims_level},   {command_tag::guard_set, claims_level},
    {command_tag::guard_remove, claims_level},        {command_tag::claims_alarm, claims_level},
    {command_tag::kv_acquire, claims_level},          {command_tag::fenced_write, claims_level},
    {command_tag::fenced_txn, claims_level},          {command_tag::session_begin, claims_level},
    {command_tag::once, exactly_once_level},          {command_tag::counting, exactly_once_level},
    {command_tag::outcome_seal, exactly_once_level},  {command_tag::session_expire, expiry_level},
    {command_tag::addressed, client_address_level},   {command_tag::waits_withdraw, disconnect_level},
});

/// The level that rows of a table need, which a restore brings into the log. Those that are not listed need none.
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

/// Whether a refusal says that some server is too old for a command. It comes as a text, from whichever server found out.
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
