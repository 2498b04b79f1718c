#pragma once
// Acquires that wait for the end of a lock-delay.

#include "actors/host.hpp"
#include "actors/interfaces.hpp"
#include "actors/surroundings.hpp"

#include <map>
#include <unordered_map>

namespace belay::actors {

/// apply() decides whether a lock-delay is over, in cluster time, and the fsm refuses before it where that is certain.
/// Who was refused and wants to wait is kept here, on the server that he asked, and tried again when the delay should
/// be over, or at once when the tables are restored. A gateway hears of the result as of any write; if the delay is not
/// over after all, it asks again.
class lock_delay_tracker : public hosted<lock_delay_tracker_actor::base> {
public:
  lock_delay_tracker(caf::actor_config& config, actor_host* host, wiring_ptr wires);

  behavior_type make_behavior() override;

private:
  using queue = std::multimap<monotonic_time, await_lock_delay>;

  monotonic_time now() { return now_of(*this, *wires_); }
  void await(await_lock_delay a);
  void forget(request_id id);
  /// Those whose time has come by then.
  void try_again(monotonic_time until);
  void arm();

  wiring_ptr wires_;
  queue waiting_;
  std::unordered_map<request_id, queue::iterator> by_id_;
  monotonic_time armed_for_ = monotonic_time::max(); ///< of the earliest wake-up that is on its way
};

} // namespace belay::actors
