#pragma once
// Known bugs that can be switched on, to check that the simulator finds them. A bug is one
// condition in an expression, as in `if (e.term == term || MUTANT(commit_any_term))`, never a
// statement. They exist only if BELAY_SIMULATION_HOOKS is defined (tests, the sim preset). In
// shipped builds MUTANT() is false. tests/mutants/README.md lists each bug, its source and how soon
// it is found.

#include <string_view>
#include <vector>

namespace belay {

/// In alphabetical order. Each has a line in tests/mutants/README.md.
#define BELAY_MUTANTS(M)                                                                                               \
  M(accessor_in_lower_case)                                                                                            \
  M(agent_death_unnoticed)                                                                                             \
  M(alarm_not_proposed)                                                                                                \
  M(any_agent_speaks_for_node)                                                                                         \
  M(append_acked_before_durable)                                                                                       \
  M(asked_again_at_once)                                                                                               \
  M(asked_again_loses_place)                                                                                           \
  M(barrier_waits_for_ever)                                                                                            \
  M(bootstraps_beside_cluster)                                                                                         \
  M(cache_sleeps_with_machine)                                                                                         \
  M(cached_beyond_max_age)                                                                                             \
  M(cached_list_left_old)                                                                                              \
  M(cas_ignores_index)                                                                                                 \
  M(cas_of_zero_ignored)                                                                                               \
  M(catalog_verb_of_refused_txn_stays)                                                                                 \
  M(changed_rows_forgotten)                                                                                            \
  M(changes_not_filtered)                                                                                              \
  M(check_fence_ignored)                                                                                               \
  M(check_session_ignored)                                                                                             \
  M(checkpoint_index_ahead)                                                                                            \
  M(checkpoint_of_earlier_time)                                                                                        \
  M(checksum_ignored)                                                                                                  \
  M(child_killed_after_grace_only)                                                                                     \
  M(chunk_changed_under_its_readers)                                                                                   \
  M(claim_change_wakes_nobody)                                                                                         \
  M(claim_end_forgotten_early)                                                                                         \
  M(claim_ends_of_clients_without_bound)                                                                               \
  M(claim_ends_refused_to_all)                                                                                         \
  M(claim_ends_without_bound)                                                                                          \
  M(claim_granted_past_deadline)                                                                                       \
  M(claim_missed_by_laggard)                                                                                           \
  M(claim_of_dead_session_stays)                                                                                       \
  M(cluster_time_of_wall_clock)                                                                                        \
  M(cluster_time_stands_still)                                                                                         \
  M(commit_any_term)                                                                                                   \
  M(commit_beyond_verified)                                                                                            \
  M(commit_minority)                                                                                                   \
  M(config_not_rolled_back)                                                                                            \
  M(conflicting_suffix_kept)                                                                                           \
  M(counter_loses_flags)                                                                                               \
  M(counter_wraps_around)                                                                                              \
  M(critical_check_ignored)                                                                                            \
  M(cursor_above_commit_waits)                                                                                         \
  M(cursor_of_any_history_taken)                                                                                       \
  M(damage_cut_as_torn)                                                                                                \
  M(dead_server_told_healthy)                                                                                          \
  M(deadlock_not_looked_for)                                                                                           \
  M(deadlock_search_without_bound)                                                                                     \
  M(default_consistency_ignored)                                                                                       \
  M(delete_behavior_releases)                                                                                          \
  M(delete_wakes_nobody)                                                                                               \
  M(deleted_token_lives_on)                                                                                            \
  M(disconnect_withdraws_at_once)                                                                                      \
  M(disconnect_withdraws_claims)                                                                                       \
  M(disconnected_wait_stays)                                                                                           \
  M(doomed_renewal_waits_for_ever)                                                                                     \
  M(doomed_session_renewed)                                                                                            \
  M(due_without_bound)                                                                                                 \
  M(election_timeouts_alike)                                                                                           \
  M(empty_log_taken_as_fitting)                                                                                        \
  M(end_of_agent_disconnects)                                                                                          \
  M(ended_id_taken_again)                                                                                              \
  M(ended_session_forgotten)                                                                                           \
  M(ended_sessions_without_bound)                                                                                      \
  M(every_change_wakes_all)                                                                                            \
  M(exact_ttl_as_lower_bound)                                                                                          \
  M(exact_ttl_by_tick)                                                                                                 \
  M(expired_certificate_accepted)                                                                                      \
  M(expired_check_passes)                                                                                              \
  M(expired_told_as_deleted)                                                                                           \
  M(expiry_by_deposed_leader)                                                                                          \
  M(failed_append_ignored)                                                                                             \
  M(failed_probe_ignored)                                                                                              \
  M(far_term_believed)                                                                                                 \
  M(fence_is_lock_index)                                                                                               \
  M(fences_of_one_entry_alike)                                                                                         \
  M(forwarded_write_retried)                                                                                           \
  M(forwarded_write_waits_for_ever)                                                                                    \
  M(full_disk_told_healthy)                                                                                            \
  M(full_snapshot_told_healthy)                                                                                        \
  M(full_table_answers_nobody)                                                                                         \
  M(garbage_proposed)                                                                                                  \
  M(ghost_withholds_everything)                                                                                        \
  M(ghosts_not_in_checkpoint)                                                                                          \
  M(ghosts_not_looked_at)                                                                                              \
  M(grant_wakes_nobody)                                                                                                \
  M(group_begins_anew_in_part)                                                                                         \
  M(guard_below_tree_ignored)                                                                                          \
  M(guard_by_keys_of_others)                                                                                           \
  M(guard_lets_on_end_pass)                                                                                            \
  M(guard_lets_readers_pass)                                                                                           \
  M(guard_lost_by_restart)                                                                                             \
  M(guards_without_share)                                                                                              \
  M(hard_state_lost)                                                                                                   \
  M(history_named_too_early)                                                                                           \
  M(holder_queues_in_delay)                                                                                            \
  M(identity_before_log)                                                                                               \
  M(identity_without_log_starts)                                                                                       \
  M(index_back_after_delete)                                                                                           \
  M(index_of_nothing_untold)                                                                                           \
  M(judgement_outlives_policies)                                                                                       \
  M(kept_window_with_a_hole)                                                                                           \
  M(key_not_demanded)                                                                                                  \
  M(keys_ahead_above_index)                                                                                            \
  M(keys_forgotten_by_restart)                                                                                         \
  M(laggard_rejects_cursors)                                                                                           \
  M(laggard_sends_what_is_old)                                                                                         \
  M(leader_counts_unwritten)                                                                                           \
  M(leader_time_goes_back)                                                                                             \
  M(leader_without_quorum_stays)                                                                                       \
  M(lease_counted_from_answer)                                                                                         \
  M(lease_ended_by_word_only)                                                                                          \
  M(lease_from_reply_time)                                                                                             \
  M(lease_kept_in_transfer)                                                                                            \
  M(leaves_before_lease_is_over)                                                                                       \
  M(lock_delay_ignored)                                                                                                \
  M(lock_delays_not_in_checkpoint)                                                                                     \
  M(lock_granted_twice)                                                                                                \
  M(lock_outlives_session)                                                                                             \
  M(log_compacted_too_far)                                                                                             \
  M(log_not_synced)                                                                                                    \
  M(member_not_asked_is_done)                                                                                          \
  M(membership_not_joint)                                                                                              \
  M(name_of_peer_ignored)                                                                                              \
  M(nested_prefix_not_woken)                                                                                           \
  M(newer_kind_proposed)                                                                                               \
  M(news_taken_for_quiet)                                                                                              \
  M(numbers_start_again)                                                                                               \
  M(old_expiry_after_restore)                                                                                          \
  M(old_round_counts)                                                                                                  \
  M(old_timeout_now_obeyed)                                                                                            \
  M(on_end_outlives_token)                                                                                             \
  M(on_end_stops_at_refusal)                                                                                           \
  M(once_applied_again)                                                                                                \
  M(once_false_not_kept)                                                                                               \
  M(once_fingerprint_ignored)                                                                                          \
  M(once_old_copy_accepted)                                                                                            \
  M(once_scope_ignored)                                                                                                \
  M(only_first_watcher_woken)                                                                                          \
  M(outcome_bytes_of_scope_stay)                                                                                       \
  M(outcome_forgotten_early)                                                                                           \
  M(outcomes_without_bound)                                                                                            \
  M(own_proposals_wait_with_clients)                                                                                   \
  M(own_row_written_again)                                                                                             \
  M(own_write_waits_for_ever)                                                                                          \
  M(passed_on_write_repeated)                                                                                          \
  M(permissions_not_judged_in_apply)                                                                                   \
  M(plain_acquire_overtakes_queue)                                                                                     \
  M(prevote_ignored_when_lagging)                                                                                      \
  M(progress_before_its_events)                                                                                        \
  M(promise_not_durable)                                                                                               \
  M(put_takes_the_lock_away)                                                                                           \
  M(queued_bytes_stay)                                                                                                 \
  M(read_before_noop)                                                                                                  \
  M(read_id_reused)                                                                                                    \
  M(read_round_not_confirmed)                                                                                          \
  M(read_served_before_applied)                                                                                        \
  M(read_waits_for_ever)                                                                                               \
  M(reads_not_filtered)                                                                                                \
  M(reads_served_stale)                                                                                                \
  M(refused_reload_forgets)                                                                                            \
  M(refused_reload_keeps_its_log)                                                                                      \
  M(refused_restore_goes_on)                                                                                           \
  M(relay_stays_paused)                                                                                                \
  M(release_wakes_nobody)                                                                                              \
  M(released_by_anybody)                                                                                               \
  M(removed_key_stays)                                                                                                 \
  M(removed_keys_are_held)                                                                                             \
  M(removed_lock_grants_nobody)                                                                                        \
  M(removed_tree_put_back_in_part)                                                                                     \
  M(renewal_forgotten)                                                                                                 \
  M(renewal_list_renews_first)                                                                                         \
  M(renewals_need_the_lease)                                                                                           \
  M(renewed_agent_unheard)                                                                                             \
  M(renewed_wait_withdrawn)                                                                                            \
  M(renewed_without_lease)                                                                                             \
  M(replica_campaigns)                                                                                                 \
  M(replica_counts_for_quorum)                                                                                         \
  M(replica_promoted)                                                                                                  \
  M(rest_of_entry_lost_at_a_cut)                                                                                       \
  M(restore_by_snapshot_not_noticed)                                                                                   \
  M(restore_forgets_ended_claims)                                                                                      \
  M(restore_forgets_outcomes)                                                                                          \
  M(restore_gives_old_fences)                                                                                          \
  M(restore_leaves_no_ghosts)                                                                                          \
  M(restore_without_reset)                                                                                             \
  M(restored_ghost_keeps_its_end)                                                                                      \
  M(restored_wait_keeps_deadline)                                                                                      \
  M(returning_key_torn_down_later)                                                                                     \
  M(seal_forgets)                                                                                                      \
  M(sector_tag_ignored)                                                                                                \
  M(server_taken_for_agent)                                                                                            \
  M(session_ends_early)                                                                                                \
  M(session_ends_in_part)                                                                                              \
  M(session_wakes_no_node)                                                                                             \
  M(sessions_of_checkpoint_forgotten)                                                                                  \
  M(sets_promised_without_pause)                                                                                       \
  M(shrunk_limit_keeps_waiters)                                                                                        \
  M(sick_voters_counted)                                                                                               \
  M(slow_chunk_read_again)                                                                                             \
  M(snapshot_and_changes_with_a_hole)                                                                                  \
  M(snapshot_below_commit_installed)                                                                                   \
  M(snapshot_digest_ignored)                                                                                           \
  M(snapshot_wakes_nobody)                                                                                             \
  M(stale_fence_taken)                                                                                                 \
  M(stale_window_taken)                                                                                                \
  M(stall_not_made_up_for)                                                                                             \
  M(stalled_disk_keeps_leading)                                                                                        \
  M(state_before_term)                                                                                                 \
  M(stranger_forwards)                                                                                                 \
  M(stranger_heeded)                                                                                                   \
  M(stream_outlives_leader)                                                                                            \
  M(successor_named_early)                                                                                             \
  M(suffix_kept_under_snapshot)                                                                                        \
  M(tables_read_while_written)                                                                                         \
  M(tail_unsynced_after_restart)                                                                                       \
  M(threads_keep_lease_in_transfer)                                                                                    \
  M(threads_read_behind_commit)                                                                                        \
  M(tickets_before_priorities)                                                                                         \
  M(timers_of_old_leadership)                                                                                          \
  M(timers_restarted_by_views)                                                                                         \
  M(times_of_steady_clock)                                                                                             \
  M(tombstones_forgotten_again)                                                                                        \
  M(tombstones_not_in_checkpoint)                                                                                      \
  M(tombstones_reaped_early)                                                                                           \
  M(transfer_at_anybodys_word)                                                                                         \
  M(transfer_closes_cycle)                                                                                             \
  M(transfer_to_the_head)                                                                                              \
  M(tree_delete_leaves_holders)                                                                                        \
  M(tree_delete_wakes_no_queue)                                                                                        \
  M(tree_delete_wakes_nobody)                                                                                          \
  M(tree_deleted_by_right_to_its_name)                                                                                 \
  M(truncate_on_old_append)                                                                                            \
  M(txn_not_rolled_back)                                                                                               \
  M(unclear_cursor_parked)                                                                                             \
  M(unfit_head_overtaken)                                                                                              \
  M(unheard_agent_is_dead)                                                                                             \
  M(unheard_members_accepted)                                                                                          \
  M(unknown_services_stay)                                                                                             \
  M(unknown_told_as_refused)                                                                                           \
  M(unpinned_limit_stays)                                                                                              \
  M(vote_forgotten_on_step_down)                                                                                       \
  M(vote_not_durable)                                                                                                  \
  M(vote_reply_kind_ignored)                                                                                           \
  M(vote_while_leader_heard)                                                                                           \
  M(vote_without_log_check)                                                                                            \
  M(votes_counted_not_collected)                                                                                       \
  M(waiter_outlives_token)                                                                                             \
  M(waiting_acquire_told_granted)                                                                                      \
  M(waiting_reader_not_judged_again)                                                                                   \
  M(watch_parked_without_look)                                                                                         \
  M(window_drops_half_an_entry)                                                                                        \
  M(window_floor_one_too_low)                                                                                          \
  M(window_forgotten_by_restart)

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

/// Switches that mutant on and all others off; "" switches all off.
/// @returns false: unknown mutant, or a build without mutants.
bool activate_mutant(std::string_view name);

} // namespace belay
