#pragma once
// Every command of the program.

#include "cli/flags/command.hpp"

#include <vector>

namespace belay::cli {

// One function for each file of commands.
std::vector<command> acl_policy_commands();
std::vector<command> acl_role_commands();
std::vector<command> acl_system_commands();
std::vector<command> acl_token_commands();
std::vector<command> agent_commands();
std::vector<command> autopilot_commands();
std::vector<command> catalog_commands();
std::vector<command> check_commands();
std::vector<command> claimed_commands();
std::vector<command> claims_commands();
std::vector<command> cluster_commands();
std::vector<command> counter_commands();
std::vector<command> debug_commands();
std::vector<command> diff_commands();
std::vector<command> event_commands();
std::vector<command> help_commands();
std::vector<command> keyring_commands();
std::vector<command> kv_commands();
std::vector<command> kv_past_commands();
std::vector<command> kv_transfer_commands();
std::vector<command> lock_commands();
std::vector<command> maintenance_commands();
std::vector<command> membership_commands();
std::vector<command> mirror_commands();
std::vector<command> monitor_commands();
std::vector<command> outcome_commands();
std::vector<command> raft_commands();
std::vector<command> reconcile_commands();
std::vector<command> recover_commands();
std::vector<command> rtt_commands();
std::vector<command> service_commands();
std::vector<command> session_commands();
std::vector<command> snapshot_agent_commands();
std::vector<command> snapshot_commands();
std::vector<command> tls_commands();
std::vector<command> txn_commands();
std::vector<command> watch_commands();

/// All commands, sorted by name.
const std::vector<command>& all_commands();

} // namespace belay::cli
