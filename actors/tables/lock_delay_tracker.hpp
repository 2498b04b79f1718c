#pragma once
// The actor that watches for the times at which something becomes possible in the state machine: a lock-delay is over, somebody has waited
// in a queue for as long as he wanted to.

#include "actors/host.hpp"
#include "actors/interfaces.hpp"
#include "actors/surroundings.hpp"

#include <map>
#include <unordered_map>

namespace belay::actors {

/// Of claims, and of acquires in queues, everything is in the tables, and only an entry can end something at its time. The leader proposes one
/// for it, an alarm: it names nothing, and does no harm if it comes twice or too late (docs/claims.md, rule 13).
///
/// Acquires that may wait (`?acquire=...&wait=...`), but in no queue because some server does not know queues yet: apply() decides whether a lock-delay is over, in cluster time, and the fsm refuses before it where that is certain.
/// An acquire that was refused and may wait is kept here, on the server that was asked, and tried again when the delay
/// should be over, or at once when the tables are restored. The gateway gets the result like that of any write; if the
/// delay is not over after all, the gateway sends the acquire here again.
class lock_delay_tracker : public hosted<lock_delay_tracker_actor::base> {
public:
  lock_delay_tracker(caf::actor_config& config, actor_host* host, wiring_ptr wires);

  behavior_type make_behavior() override;

private:
  using queue = std::multimap<monotonic_time, await_lock_delay>;

  monotonic_time now() { return now_of(*this, *wires_); }
  void await(await_lock_delay a);
  void forget(request_id id);
  void end_wait_of(request_id id);
  /// Sends all acquires that wait until `until` or less to the fsm again.
  void try_again(monotonic_time until);
  void arm();
  void alarm_moved(cluster_time at);
  void propose_alarm();
  /// When there is something to do; max(): nothing.
  monotonic_time next_due();

  wiring_ptr wires_;
  queue waiting_;
  std::unordered_map<request_id, queue::iterator> by_id_;
  cluster_time alarm_;                               ///< zero: none
  monotonic_time proposed_at_{};                     ///< the newest alarm
  monotonic_time next_alarm_{};                      ///< none is proposed before
  cluster_view view_;                                ///< this node proposes them while it serves
  monotonic_time armed_for_ = monotonic_time::max(); ///< the deadline that the last wake-up which was sent is for
  std::size_t wake_ups_ = 0;                         ///< on their way; each comes within a second
};

} // namespace belay::actors
