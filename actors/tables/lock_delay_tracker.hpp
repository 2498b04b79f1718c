#pragma once
// The actor that watches for times at which the state machine can proceed. These are the ends of
// lock delays, and the deadlines of clients that wait in queues.

#include "actors/actor_context.hpp"
#include "actors/host.hpp"
#include "actors/interfaces.hpp"

#include <map>
#include <unordered_map>

namespace belay::actors {

/// The tables hold everything about claims and queued acquires, and only an entry can end one at
/// its time. The leader proposes one for it, an alarm: it names nothing, and is harmless if it is
/// repeated or late (docs/reference/claims.md, rule 13). Other acquires (`?acquire=...&wait=...`) may wait,
/// too, if a server does not support queues. apply() decides in cluster time if a lock delay is
/// over, and the fsm rejects earlier if that is certain. Such an acquire is kept here, on its
/// server, and retried when the delay should be over, or at once after a restore. The gateway gets
/// the result like that of any write; if the delay is not over, it sends the acquire here again.
class lock_delay_tracker : public hosted<lock_delay_tracker_actor::base> {
public:
  lock_delay_tracker(caf::actor_config& config, actor_host* host, node_actors_ptr node_actors);

  behavior_type make_behavior() override;

private:
  using queue = std::multimap<monotonic_time, await_lock_delay>;

  monotonic_time now() { return now_of(*this, *node_actors_); }
  void await(await_lock_delay a);
  void forget(request_id id);
  void end_wait_of(request_id id);
  /// Sends all acquires that wait until `until` or earlier to the fsm again.
  void try_again(monotonic_time until);
  void arm();
  void alarm_moved(cluster_time at);
  void propose_alarm();
  /// Time of the next work; max(): none.
  monotonic_time next_due();

  node_actors_ptr node_actors_;
  queue waiting_;
  std::unordered_map<request_id, queue::iterator> by_id_;
  cluster_time alarm_;                               ///< zero: none
  monotonic_time proposed_at_{};                     ///< time of the newest alarm
  monotonic_time next_alarm_{};                      ///< earliest time of the next alarm
  cluster_view view_;                                ///< this node proposes alarms while it serves
  monotonic_time armed_for_ = monotonic_time::max(); ///< the deadline of the wake-up that was scheduled last
  std::size_t wake_ups_ = 0;                         ///< scheduled; each arrives within a second
};

} // namespace belay::actors
