// The names of Raft's enumerations in logs and test stories.

#include "protocol/raft/core.hpp"

// An enumerator without a name does not compile.
#pragma GCC diagnostic error "-Wswitch"

namespace belay::raft {

std::string_view name_of(entry_kind k) {
  switch (k) {
  case entry_kind::noop:
    return "noop";
  case entry_kind::command:
    return "command";
  case entry_kind::configuration:
    return "configuration";
  }
  return "?";
}

std::string_view name_of(role r) {
  switch (r) {
  case role::follower:
    return "follower";
  case role::pre_candidate:
    return "pre_candidate";
  case role::candidate:
    return "candidate";
  case role::leader:
    return "leader";
  }
  return "?";
}

std::string_view name_of(election_cause c) {
  switch (c) {
  case election_cause::none:
    return "none";
  case election_cause::only_voter:
    return "this server is the only voter";
  case election_cause::leader_silent:
    return "heartbeat timeout";
  case election_cause::no_leader:
    return "no leader known";
  case election_cause::no_winner:
    return "the previous election had no winner";
  case election_cause::requested_by_leader:
    return "leadership transfer";
  }
  return "?";
}

std::string_view name_of(step_down_cause c) {
  switch (c) {
  case step_down_cause::none:
    return "none";
  case step_down_cause::newer_term:
    return "newer term received";
  case step_down_cause::no_quorum:
    return "no majority of the voters responds";
  case step_down_cause::stalled_disk:
    return "writes to the log take too long";
  case step_down_cause::left_configuration:
    return "this server is no longer a voter";
  }
  return "?";
}

std::string_view name_of(follower_state s) {
  switch (s) {
  case follower_state::probe:
    return "probe";
  case follower_state::replicate:
    return "replicate";
  case follower_state::snapshot:
    return "snapshot";
  }
  return "?";
}

std::string_view name_of(propose_error e) {
  switch (e) {
  case propose_error::not_leader:
    return "not_leader";
  case propose_error::transferring:
    return "transferring";
  case propose_error::too_much_uncommitted:
    return "too_much_uncommitted";
  case propose_error::change_in_progress:
    return "change_in_progress";
  case propose_error::no_noop_yet:
    return "no_noop_yet";
  case propose_error::quorum_not_reachable:
    return "quorum_not_heard";
  case propose_error::invalid:
    return "invalid";
  }
  return "?";
}

} // namespace belay::raft
