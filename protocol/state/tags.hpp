#pragma once
// The numbers of tables and commands in logs, checkpoints and
// archives and between peers. Never change one; append new ones.

#include "protocol/state/enum_names.hpp"

#include <cstdint>

namespace belay::state {

enum class table : std::uint8_t {
  kv = 1,
  tombstones = 2,
  sessions = 3,
  lock_delays = 4,
  nodes = 5,
  services = 6,
  checks = 7,
  counters = 8,
  staging = 9,
  operators = 10, ///< settings of autopilot
  acl_policies = 11,
  acl_roles = 12,
  acl_tokens = 13,
  claims = 14,
  claim_resources = 15,
  claim_ghosts = 16,
  claim_ends = 17,
  guards = 18,
  ended_sessions = 19,
  outcomes = 20,
};
template <>
inline constexpr auto names_of<table> = std::to_array<std::string_view>({
    "",
    "kv",
    "tombstones",
    "sessions",
    "lock_delays",
    "nodes",
    "services",
    "checks",
    "counters",
    "staging",
    "operators",
    "acl_policies",
    "acl_roles",
    "acl_tokens",
    "claims",
    "claim_resources",
    "claim_ghosts",
    "claim_ends",
    "guards",
    "ended_sessions",
    "outcomes",
});
static_assert(count_of<table> == static_cast<std::size_t>(table::outcomes) + 1);

/// The type of the table's rows, for the log.
inline constexpr auto row_types = std::to_array<std::string_view>({
    "",
    "kv_entry",
    "tombstone",
    "session_record",
    "lock_delay_record",
    "node_record",
    "service_record",
    "check_record",
    "counter",
    "staged_record",
    "autopilot_settings",
    "acl_policy",
    "acl_role",
    "acl_token",
    "claim_record",
    "claim_resource",
    "claim_ghost",
    "claim_end_record",
    "guard_record",
    "ended_session",
    "outcome_record",
});
static_assert(row_types.size() == count_of<table>);

enum class command_tag : std::uint8_t {
  kv_write = 0,
  txn = 1,
  session_create = 2,
  session_destroy = 3,
  catalog_register = 4,
  catalog_deregister = 5,
  tombstone_reap = 6,
  restore_begin = 7,
  restore_rows = 8,
  restore_commit = 9,
  restore_abort = 10,
  autopilot_set = 11,
  acl_initialize = 12,
  acl_bootstrap = 13,
  acl_policy_set = 14,
  acl_policy_delete = 15,
  acl_role_set = 16,
  acl_role_delete = 17,
  acl_token_set = 18,
  acl_token_clone = 19,
  acl_token_delete = 20,
  on_behalf = 21,            ///< not a command: an auth context, followed by the command on its behalf
  authorized_on_behalf = 22, ///< the same, with a decision that may still hold (command::authorized_at)
  claim_ask = 23,
  claim_release = 24,
  claim_transfer = 25,
  claim_mode_set = 26,
  claim_limit_set = 27,
  claim_limit_unset = 28,
  guard_set = 29,
  guard_remove = 30,
  claims_alarm = 31,
  kv_acquire = 32,
  fenced_write = 33,
  fenced_txn = 34,
  session_begin = 35,
  once = 36, ///< not a command: a once_request, followed by the command that takes effect once
  counting =
      37, ///< not a command of its own: precedes a command that contains the verb `add`, unknown to older servers
  outcome_seal = 38,
  session_expire = 39,
  addressed = 40, ///< not a command: the client's address, followed by the command that it sent
  waits_withdraw = 41,
};

} // namespace belay::state
