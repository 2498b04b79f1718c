#pragma once
// Questions about this node and its cluster, and operators' orders (status, agent, operator): which are answered at
// once, and which other actor is asked for the rest. How the answers look is in local_answers.

#include "actors/gateway/requests/local_answers.hpp"
#include "actors/gateway/requests/outbox.hpp"
#include "actors/gateway/requests/pending_requests.hpp"

namespace belay::actors {

class local_questions {
public:
  /// @param out,pending outlive it
  local_questions(outbox& out, pending_requests& pending, answer_times times, local_facts facts)
      : out_(out), pending_(pending), times_(times), facts_(std::move(facts)) {}

  /// Answers `e`, or asks for what is needed. Also called for an exchange whose `ask_again` was set.
  void begin(exchange& e, const http::local_request& r, monotonic_time now);
  /// What the tables say of it: the autopilot's settings, which say what healthy means, or client agents. Now whoever knows the rest is asked.
  void rows_read(exchange& e, const read_result& r);
  /// raft_peer has told what it knows. Without a leader the question may be put again.
  void status_told(const status_result& s);
  /// The leader has done what an operator wanted, or says what it knows.
  void decided(exchange& e, write_result& r) const;

  /// Who leads and who belongs to the cluster has changed. Until the first call that is not known.
  void view_changed(const cluster_view& v);
  bool has_leader() const { return !leader_address(view_).empty(); }
  /// It is known that there is no leader.
  bool leaderless() const { return view_known_ && !has_leader(); }

private:
  void look_for_agents(exchange& e, const http::local_request& r, monotonic_time now);
  void ask_rows(exchange& e, state::query q, http::consistency mode);
  void agents_read(exchange& e, const http::local_request& request, const read_result& r);
  void settings_read(exchange& e, const read_result& r);
  void force_out(exchange& e, const forward::force_leave& forced);
  static known_members members_of(const exchange& e, const cluster_view& v);

  outbox& out_;
  pending_requests& pending_;
  answer_times times_;
  local_facts facts_;
  cluster_view view_;
  bool view_known_ = false;
  bool knew_leader_ = false; ///< before that the tables may wait for one
};

} // namespace belay::actors
