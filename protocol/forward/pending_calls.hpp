#pragma once
// Writes, session renewals and operators' calls from their arrival to their answer: held until there is a leader, then
// proposed here or handed to the leader once, and answered with what is known. No clock and no network: an actor
// brings what happened and carries out what comes back.

#include "protocol/forward/held_calls.hpp"
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

/// A client of this node is told that its call was refused, or that its outcome is unknown.
struct tell_client {
  request_id id;
  call_outcome outcome = call_outcome::unknown;
  std::string text;
};
/// A client of this node gets the leader's answer to its call; the outcome is `done`.
struct pass_answer {
  held_call asked;
  reply answer;
};
/// This node leads: its session timers decide the renewal.
struct renew_here {
  origin from;
  payload session;
  local_time deadline{0}; ///< until then it may be asked again, of this leader or the next
  bool confirmed = false; ///< a quorum confirmed this leader after the renewal had come; else its lease has to do
};
/// This node leads, and decides this call of an operator itself.
struct decide_here {
  held_call asked;
};
/// This node leads: into the log with them, all or none. Answer with proposed() or not_proposed().
struct propose_here {
  std::vector<held_call> batch;
};

using call_action =
    std::variant<to_peer, tell_client, pass_answer, renew_here, confirm_leadership, decide_here, propose_here>;

class pending_calls {
public:
  /// @param held_max how many may wait for a leader
  explicit pending_calls(node_id self, std::size_t held_max = held_calls::count_max)
      : self_(self), held_(held_max), asked_in_vain_(held_max) {}

  // ---- inputs. After each of them take_actions() says what is to be done.

  /// @returns false: too many wait, it was refused at once.
  bool hold(held_call c);
  /// A call that another node hands to this one. @returns as hold()
  bool take_over(node_id from, const call& c, bool leading, local_time deadline);
  /// What is held goes on, if somebody leads.
  void go_on(const leadership& now);

  /// `first` is the index of the first of them, the others follow.
  void proposed(log_index first, const std::vector<held_call>& batch);
  /// The log takes no more now (a transfer, or too much on its way): they wait for their turn or their deadline.
  void not_proposed(std::vector<held_call> batch);
  /// These entries are committed. Whoever waits for an earlier one, which came with a snapshot of another leader, is told that the
  /// outcome is unknown. @returns the origin of each, or nothing if none of them was proposed here
  std::vector<origin> committed(const std::vector<raft::entry>& entries);
  /// Whether entries proposed here from `first` on will be committed cannot be known here any more.
  void unknown_from(log_index first);

  /// The leader's answer. Answers from others than the node that was asked, and to questions that nobody asked, count
  /// for nothing. @returns false: it was such a one
  bool answered(node_id from, reply r, log_index commit);
  /// The commit index has risen: who writes through this node can read his write on this node, by a stale read too.
  void committed_here(log_index commit);
  /// What was asked by confirm_leadership. A leader may be without a lease for the rest of its term (see core::impl::tick_transfer):
  /// renewals would wait for ever if only the lease counted.
  void confirmed(std::uint64_t attempt);
  void failed(std::uint64_t attempt);
  /// The session timers could not decide: not the leader, or not sure of it. A renewal may be tried twice.
  void renewal_undecided(const origin& from, payload session, local_time deadline);

  /// The leader is another one, or the term is. Zero: nobody leads.
  void leader_changed(node_id leader);
  /// What was sent last on the connection may be lost.
  void peer_lost(node_id peer);
  /// With every tick, and when a leader is known: who was asked in vain is asked again.
  void ask_again();
  /// The client of that call sends nothing more and may be gone: from the next expire() on, the call is refused if it waits and nobody
  /// leads. A call that was proposed or handed to the leader is not affected.
  void end_wait(request_id id);
  /// With every tick.
  void expire(local_time now, const leadership& leader);

  /// Refused or unknown, wherever the call came from.
  void tell(const origin& to, call_outcome outcome, std::string text);

  /// What is to be done since the last call, in this order.
  std::vector<call_action> take_actions() { return std::exchange(actions_, {}); }

  /// None is held. Calls that were proposed or handed to the leader do not count.
  bool none_held() const { return held_.empty(); }
  /// Calls that wait for the leader, or that it is working on: held here, and proposed here and not committed.
  std::size_t unfinished() const { return held_.size() + origins_.size(); }

private:
  struct proposed_call {
    origin from;
    local_time deadline{0};
  };
  struct forwarded_call {
    held_call asked;
    node_id leader; ///< who was asked: decides what is known when a connection breaks
  };

  void keep(held_calls& where, held_call c);
  void share_out(const leadership& now);
  void confirm(std::vector<renew_here> renewals);
  void hand_over(node_id leader);
  void send_back(const origin& from);
  template <class Lost>
  void forwarded_unknown(Lost lost, const char* text);

  node_id self_;
  std::vector<call_action> actions_;
  held_calls held_;
  std::unordered_map<std::uint64_t, std::vector<renew_here>> unconfirmed_; ///< by attempt
  std::uint64_t attempts_ = 0;
  held_calls asked_in_vain_;             ///< whom we took for the leader does not lead
  std::unordered_set<request_id> ended_; ///< waits since the last expire(); of calls that are held, or of nothing
  std::unordered_map<request_id, forwarded_call> forwarded_;
  std::multimap<log_index, pass_answer> until_committed_; ///< done, but not yet on this node
  std::deque<proposed_call> origins_;                     ///< of entries proposed here, from origins_first_ on
  log_index origins_first_;
};

} // namespace belay::forward
