#include "sim/environment/stub_of.hpp"

#include <caf/typed_event_based_actor.hpp>

namespace belay::sim::stub {

namespace {

template <class Message>
auto handler(caf::scheduled_actor* self, std::function<void(const Message&)> ear) {
  return [self, ear = std::move(ear)](const Message& m) {
    if (ear)
      ear(m);
    if constexpr (std::is_same_v<Message, actors::stop_atom>)
      self->quit();
  };
}

} // namespace

template <class Handle>
Handle spawn(caf::actor_system& system, ears<Handle> ears) {
  return system.spawn(
      [ears = std::move(ears)](typename Handle::pointer self) mutable -> typename Handle::behavior_type {
        return std::apply(
            [self](auto&... each) { return typename Handle::behavior_type{handler(self, std::move(each))...}; }, ears);
      });
}

template actors::audit_log_actor spawn(caf::actor_system&, ears<actors::audit_log_actor>);
template actors::fsm_actor spawn(caf::actor_system&, ears<actors::fsm_actor>);
template actors::health_checks_actor spawn(caf::actor_system&, ears<actors::health_checks_actor>);
template actors::http_gateway_actor spawn(caf::actor_system&, ears<actors::http_gateway_actor>);
template actors::peer_link_actor spawn(caf::actor_system&, ears<actors::peer_link_actor>);
template actors::raft_peer_actor spawn(caf::actor_system&, ears<actors::raft_peer_actor>);
template actors::registration_keeper_actor spawn(caf::actor_system&, ears<actors::registration_keeper_actor>);

} // namespace belay::sim::stub
