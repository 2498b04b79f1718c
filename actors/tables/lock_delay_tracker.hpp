#pragma once
// The actor that keeps acquires which were refused because of a lock-delay and may wait (`?acquire=...&wait=...`), and
// tries each of them again when its lock-delay should be over.

#include "actors/host.hpp"
#include "actors/interfaces.hpp"
#include "actors/surroundings.hpp"

#include <map>
#include <unordered_map>

namespace belay::actors {

/// apply() decides whether a lock-delay is over, in cluster time, and the fsm refuses before it where that is certain.
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
  /// Sends all acquires that wait until `until` or less to the fsm again.
  void try_again(monotonic_time until);
  void arm();

  wiring_ptr wires_;
  queue waiting_;
  std::unordered_map<request_id, queue::iterator> by_id_;
  monotonic_time armed_for_ = monotonic_time::max(); ///< the deadline that the last wake-up which was sent is for
  std::size_t wake_ups_ = 0;                         ///< on their way; each comes within a second
};

} // namespace belay::actors
