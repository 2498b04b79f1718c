#pragma once
// Writes, session renewals and operators' calls from arrival to reply. They are queued until there
// is a leader, proposed here or forwarded to it once, and answered with what is known. No clock and
// no network: an actor passes events and carries out actions.

#include "protocol/forward/queued_calls.hpp"
#include "protocol/raft/types.hpp"

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace belay::forward {

/// Notify a client of this node that its call was rejected, or that its outcome is unknown.
struct to_client {
  request_id id;
  call_outcome outcome = call_outcome::unknown;
  std::string text;
};
/// Pass the leader's reply to a client of this node; the outcome is `done`.
struct pass_answer {
  queued_call requested;
  reply answer;
};
/// This node leads: its session timers decide the renewal.
struct renew_here {
  origin from;
  payload session;
  local_time deadline{0}; ///< may be retried until then, by this leader or the next
  bool confirmed = false; ///< a quorum confirmed this leader after arrival; else its lease must suffice
};
/// This node leads, and decides this operator's call itself.
struct decide_here {
  queued_call requested;
};
/// This node leads: propose these, all or none. Call proposed() or not_proposed() then.
struct propose_here {
  std::vector<queued_call> batch;
};

using call_action =
    std::variant<to_peer, to_client, pass_answer, renew_here, confirm_leadership, decide_here, propose_here>;

class pending_calls {
public:
  /// @param queued_max max calls that wait for a leader
  explicit pending_calls(node_id self, std::size_t queued_max = queued_calls::count_max)
      : self_(self), queued_(queued_max), misdirected_(queued_max) {}

  // ---- inputs. Call take_actions() after each of them.

  /// @returns false: too many wait, it was rejected at once.
  bool enqueue(queued_call c);
  /// A call that another node forwards to this one. @returns as enqueue()
  bool take_over(node_id from, const call& c, bool leading, local_time deadline);
  /// Processes queued calls, if there is a leader.
  void go_on(const leadership& now);

  /// `first` is the index of the first of them, the others follow.
  void proposed(log_index first, const std::vector<queued_call>& batch);
  /// The log accepts no more (a transfer, or too much in flight): they wait until their deadline.
  void not_proposed(std::vector<queued_call> batch);
  /// Call it when these entries are committed. Calls for earlier indexes, covered by another
  /// leader's snapshot, have an unknown outcome. @returns each entry's origin, or none if nothing
  /// was proposed here
  std::vector<origin> committed(const std::vector<raft::entry>& entries);
  /// The outcome of entries proposed here from `first` on can no longer be known here.
  void unknown_from(log_index first);

  /// The leader's reply. Ignores replies of nodes that were not
  /// asked, and to unknown requests. @returns false: it was ignored
  bool answered(node_id from, reply r, log_index commit);
  /// The commit index rose: clients can read their writes on this node, even by stale reads.
  void committed_here(log_index commit);
  /// Result of confirm_leadership. A leader may have no lease for the rest of its term
  /// (core::impl::tick_transfer): with only the lease, renewals would wait forever.
  void confirmed(std::uint64_t attempt);
  void failed(std::uint64_t attempt);
  /// The session timers could not decide: no certain leadership. A renewal may be tried twice.
  void renewal_undecided(const origin& from, payload session, local_time deadline);

  /// The leader or the term changed. Zero: no leader.
  void leader_changed(node_id leader);
  /// What was sent last on the connection may be lost.
  void peer_lost(node_id peer);
  /// Call it at every tick, and when a leader is known: retries requests that a non-leader
  /// received.
  void ask_again();
  /// That call's client may be gone: the next expire() rejects the call if it waits
  /// without a leader. A call that was proposed or forwarded is not affected.
  void end_wait(request_id id);
  /// Call it at every tick.
  void expire(local_time now, const leadership& leader);

  /// Sends a refused or unknown outcome to the origin of the call, local or remote.
  void respond(const origin& to, call_outcome outcome, std::string text);

  /// Actions since the last call, in order.
  std::vector<call_action> take_actions() { return std::exchange(actions_, {}); }

  /// Whether no call is queued. Proposed and forwarded calls do not count.
  bool none_queued() const { return queued_.empty(); }
  /// Queued calls, and those proposed here that are not committed.
  std::size_t unfinished() const { return queued_.size() + origins_.size(); }

private:
  struct proposed_call {
    origin from;
    local_time deadline{0};
  };
  struct forwarded_call {
    queued_call requested;
    node_id leader; ///< the node it was sent to: decides the outcome if a connection breaks
  };

  void keep(queued_calls& where, queued_call c);
  void share_out(const leadership& now);
  void confirm(std::vector<renew_here> renewals);
  void forward_to(node_id leader);
  void send_back(const origin& from);
  template <class Lost>
  void forwarded_unknown(Lost lost, const char* text);

  node_id self_;
  std::vector<call_action> actions_;
  queued_calls queued_;
  std::unordered_map<std::uint64_t, std::vector<renew_here>> unconfirmed_; ///< by attempt
  std::uint64_t attempts_ = 0;
  queued_calls misdirected_;             ///< sent to a node that does not lead
  std::unordered_set<request_id> ended_; ///< ended since the last expire(); may contain unknown ids
  std::unordered_map<request_id, forwarded_call> forwarded_;
  std::multimap<log_index, pass_answer> until_committed_; ///< done, but not yet on this node
  std::deque<proposed_call> origins_;                     ///< origins of entries proposed here, from origins_first_ on
  log_index origins_first_;
};

} // namespace belay::forward
