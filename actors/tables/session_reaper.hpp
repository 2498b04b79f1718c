#pragma once
// The actor that expires sessions by TTL (docs/contract/04, section 5). Only on the leader: keeps
// the deadlines of all sessions, renews them, and proposes the end of those past twice the TTL.

#include "actors/actor_context.hpp"
#include "actors/host.hpp"
#include "actors/interfaces.hpp"
#include "actors/telemetry/metrics.hpp"
#include "protocol/forward/renewals.hpp"
#include "protocol/lease/session_deadlines.hpp"

#include <unordered_map>

namespace belay::actors {

/// Deadlines are private to the leader and start over with each leadership. Due sessions are
/// proposed in batches of 1,000, checked against the term (docs/internals/pitfalls.md R25), and again after a second
/// (docs/internals/pitfalls.md C3). Renewals of them wait for the outcome. A renewal needs the
/// leader's lease, or a quorum's confirmation after it arrived, because the lease may be given up
/// for the rest of a term. A deposed leader that is unaware of it must not confirm sessions.
class session_reaper : public hosted<session_reaper_actor::base> {
public:
  /// `sessions`: those in the state machine at the start.
  /// @param restored_at of that state machine
  session_reaper(caf::actor_config& config, actor_host* host, node_actors_ptr node_actors,
                 const std::vector<state::session_ptr>& sessions, log_index restored_at, metrics& m);

  behavior_type make_behavior() override;

private:
  void take(const state::effects& changed);
  void lead(const cluster_view& v);
  void renew(const renew_request& r);
  /// Handles a gateway's request: here if this node certainly leads, else by forwarding it.
  void renew_at_once(const renew_session& r);
  /// @param confirmed as in renew_request
  bool decides(term_id confirmed = {});
  /// Renews one of a list. @returns its record
  state::session_ptr renew_one(const std::string& id);
  forward::renewed_lifetimes renew_all(std::string_view list);
  void answer(const renew_request& r, bool known, state::session_ptr s = nullptr);
  /// Renewals of sessions that were about to end go to the next leader.
  void forget_the_doomed();
  /// Adds what only the leader knows to the response about a session, before the gateway gets it.
  void complete(read_result& r);
  void complete(write_results& w);
  std::uint64_t ttl_left_ms(const std::string& session);
  void answer_late_renewals();
  void reap();
  /// Schedules a run when the next exact session is due, if that is before the next tick.
  void wake_for_exact_ones();
  void make_up_for_stalls();
  void start_timer(const state::session_ptr& s);
  /// Schedules a tick while there are timers.
  void tick_soon();
  lease::local_time now() { return now_of(*this, *node_actors_).time_since_epoch(); }

  node_actors_ptr node_actors_;
  metrics& metrics_;
  lease::session_deadlines deadlines_;
  std::unordered_map<std::string, state::session_ptr> sessions_;
  /// A session whose end was proposed.
  struct doomed_session {
    lease::local_time since{0};
    std::vector<renew_request> waiting; ///< renewals that wait for the outcome
  };
  std::unordered_map<std::string, doomed_session> doomed_;
  log_index restored_at_; ///< the newest restore that sessions_ come from, or were created after
  bool leading_ = false;
  term_id term_;
  lease::local_time lease_until_{0};
  lease::local_time next_tick_{0}; ///< expected time of the tick; zero: there is no timer
  lease::local_time wakes_at_{0};  ///< for an exact session, before that tick; zero: not scheduled
};

} // namespace belay::actors
