#pragma once
// Ends sessions whose TTL has passed twice, while this node leads (contract 04).

#include "actors/host.hpp"
#include "actors/interfaces.hpp"
#include "actors/surroundings.hpp"
#include "protocol/lease/session_deadlines.hpp"

#include <unordered_map>

namespace belay::actors {

/// Deadlines are private to the leader and start afresh with each leadership. What is due is proposed as one batch, fenced by the term
/// (R25), and again a second later if it is still there (C3).
class session_reaper : public hosted<session_reaper_actor::base> {
public:
  /// `sessions`: those in the state machine at the start of this process.
  session_reaper(caf::actor_config& config, actor_host* host, wiring_ptr wires, const std::vector<state::session_ptr>& sessions);

  behavior_type make_behavior() override;

private:
  void take(const state::effects& changed);
  void lead(const cluster_view& v);
  void renew(const renew_request& r);
  /// Adds what only the leader knows to the answer of a read of one session, on its way to the gateway.
  void complete(read_result& r);
  void reap();
  void start_timer(const state::session_ptr& s);
  lease::local_time now() { return now_of(*this, *wires_).time_since_epoch(); }

  wiring_ptr wires_;
  lease::session_deadlines deadlines_;
  std::unordered_map<std::string, state::session_ptr> sessions_;
  bool leading_ = false;
  term_id term_;
};

} // namespace belay::actors
