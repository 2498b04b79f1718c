#include "cli/commands/all.hpp"

#include <algorithm>

namespace belay::cli {

const std::vector<command>& all_commands() {
  static const std::vector<command> sorted = [] {
    std::vector<command> all;
    for (const auto make : {acl_policy_commands,     acl_role_commands,    acl_system_commands, acl_token_commands,
                            agent_commands,          autopilot_commands,   catalog_commands,    check_commands,
                            claimed_commands,        claims_commands,      cluster_commands,    counter_commands,
                            debug_commands,          diff_commands,        event_commands,      help_commands,
                            keyring_commands,        kv_commands,          kv_past_commands,    kv_transfer_commands,
                            lock_commands,           maintenance_commands, membership_commands, mirror_commands,
                            monitor_commands,        outcome_commands,     raft_commands,       reconcile_commands,
                            recover_commands,        rtt_commands,         service_commands,    session_commands,
                            snapshot_agent_commands, snapshot_commands,    tls_commands,        txn_commands,
                            watch_commands}) {
      auto some = make();
      std::move(some.begin(), some.end(), std::back_inserter(all));
    }
    std::sort(all.begin(), all.end(), [](const command& a, const command& b) { return a.name < b.name; });
    return all;
  }();
  return sorted;
}

} // namespace belay::cli
