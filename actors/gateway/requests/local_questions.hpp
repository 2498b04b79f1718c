#pragma once
// Requests about this node and its cluster, and operators' commands (status, agent, operator).
// Decides which are answered at once, and which actor handles the rest. local_answers formats the
// answers.

#include "actors/gateway/requests/local_answers.hpp"
#include "actors/gateway/requests/outbox.hpp"
#include "actors/gateway/requests/pending_requests.hpp"

namespace belay::actors {

class local_questions {
public:
  /// @param out,pending must outlive this object
  local_questions(outbox& out, pending_requests& pending, answer_times times, local_facts facts)
      : out_(out), pending_(pending), times_(times), facts_(std::move(facts)) {}

  /// Answers `e`, or requests what is needed. Also called for an exchange with `ask_again` set.
  void begin(exchange& e, const http::local_request& r, monotonic_time now);
  /// The tables have returned autopilot's settings (its limits of health) or the client agents.
  /// Requests the rest.
  void rows_read(exchange& e, const read_result& r);
  /// raft_peer has responded. Without a leader the request may be repeated.
  void status_sent(const status_result& s);
  /// The leader has carried out an operator's request, or has responded.
  void decided(exchange& e, write_result& r) const;

  /// The leader or the members have changed. Until the first call they are unknown.
  void view_changed(const cluster_view& v);
  bool has_leader() const { return !leader_address(view_).empty(); }
  /// Whether it is known that there is no leader.
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
  bool knew_leader_ = false; ///< before that the tables may wait for a leader
};

} // namespace belay::actors
