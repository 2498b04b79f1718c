#pragma once
// The actor that holds blocking queries while they wait:
// it knows what each one depends on, and its deadline.

#include "actors/actor_context.hpp"
#include "actors/host.hpp"
#include "actors/interfaces.hpp"
#include "actors/telemetry/metrics.hpp"
#include "protocol/watch/parked_queries.hpp"

#include <map>
#include <unordered_map>

namespace belay::actors {

/// The fsm sends it queries to park and effects, in order; it responds with queries_touched.
/// Deadlines are accurate to one tick (20 ms). While no query waits, nothing wakes this actor.
class watch_registry : public hosted<watch_registry_actor::base> {
public:
  watch_registry(caf::actor_config& config, actor_host* host, node_actors_ptr node_actors, metrics& m);

  behavior_type make_behavior() override;

private:
  using deadline_queue = std::multimap<monotonic_time, request_id>;

  monotonic_time now() { return now_of(*this, *node_actors_); }
  void park(const park_query& p);
  void forget(request_id id);
  void expire();
  void sleep_until_due();

  node_actors_ptr node_actors_;
  metrics& metrics_;
  watch::parked_queries parked_;
  log_index published_; ///< effects of entries up to this one were published
  deadline_queue deadlines_;
  std::unordered_map<request_id, deadline_queue::iterator> deadline_of_;
  wake_ups wake_ups_;
};

} // namespace belay::actors
