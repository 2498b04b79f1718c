#pragma once
// Known bugs that can be switched on, to see that the simulator finds them: `if (MUTANT(commit_any_term)) ...`.
// Only where BELAY_SIMULATION_HOOKS is defined (tests, the sim preset); in shipped builds MUTANT() is the constant
// false. Each bug, its source and how soon it is found: tests/mutants/README.md.

#include <string_view>
#include <vector>

namespace belay {

/// In alphabetical order. Each has a line in tests/mutants/README.md.
#define BELAY_MUTANTS(M)                                                                                               \
  M(append_acked_before_durable)                                                                                       \
  M(asked_again_at_once)                                                                                               \
  M(cas_ignores_index)                                                                                                 \
  M(changed_rows_forgotten)                                                                                            \
  M(checkpoint_index_ahead)                                                                                            \
  M(checksum_ignored)                                                                                                  \
  M(commit_any_term)                                                                                                   \
  M(commit_beyond_verified)                                                                                            \
  M(commit_minority)                                                                                                   \
  M(config_not_rolled_back)                                                                                            \
  M(conflicting_suffix_kept)                                                                                           \
  M(damage_cut_as_torn)                                                                                                \
  M(delete_wakes_nobody)                                                                                               \
  M(failed_append_ignored)                                                                                             \
  M(forwarded_write_retried)                                                                                           \
  M(guard_lost_by_restart)                                                                                             \
  M(hard_state_lost)                                                                                                   \
  M(index_back_after_delete)                                                                                           \
  M(leader_counts_unwritten)                                                                                           \
  M(leader_time_goes_back)                                                                                             \
  M(leader_without_quorum_stays)                                                                                       \
  M(lease_from_reply_time)                                                                                             \
  M(lease_kept_in_transfer)                                                                                            \
  M(log_compacted_too_far)                                                                                             \
  M(log_not_synced)                                                                                                    \
  M(membership_not_joint)                                                                                              \
  M(nested_prefix_not_woken)                                                                                           \
  M(numbers_start_again)                                                                                               \
  M(old_round_counts)                                                                                                  \
  M(only_first_watcher_woken)                                                                                          \
  M(prevote_ignored_when_lagging)                                                                                      \
  M(read_before_noop)                                                                                                  \
  M(read_id_reused)                                                                                                    \
  M(read_round_not_confirmed)                                                                                          \
  M(read_served_before_applied)                                                                                        \
  M(slow_chunk_read_again)                                                                                             \
  M(snapshot_below_commit_installed)                                                                                   \
  M(snapshot_wakes_nobody)                                                                                             \
  M(stalled_disk_keeps_leading)                                                                                        \
  M(suffix_kept_under_snapshot)                                                                                        \
  M(tail_unsynced_after_restart)                                                                                       \
  M(tombstones_not_in_checkpoint)                                                                                      \
  M(tree_delete_wakes_nobody)                                                                                          \
  M(truncate_on_old_append)                                                                                            \
  M(txn_not_rolled_back)                                                                                               \
  M(unheard_members_accepted)                                                                                          \
  M(unknown_told_as_refused)                                                                                           \
  M(vote_forgotten_on_step_down)                                                                                       \
  M(vote_not_durable)                                                                                                  \
  M(vote_reply_kind_ignored)                                                                                           \
  M(vote_while_leader_heard)                                                                                           \
  M(vote_without_log_check)                                                                                            \
  M(votes_counted_not_collected)                                                                                       \
  M(watch_parked_without_look)

#define BELAY_MUTANT_NAME(name) name,
enum class mutant : unsigned char { none, BELAY_MUTANTS(BELAY_MUTANT_NAME) };
#undef BELAY_MUTANT_NAME

std::vector<std::string_view> mutant_names();

#ifdef BELAY_SIMULATION_HOOKS
inline mutant active_mutant = mutant::none;
#define MUTANT(name) (::belay::active_mutant == ::belay::mutant::name)
#else
#define MUTANT(name) false
#endif

/// Switches that one on and all others off; "" switches all off.
/// @returns false: there is no such mutant, or this build has none.
bool activate_mutant(std::string_view name);

} // namespace belay
