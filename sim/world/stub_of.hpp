#pragma once
// An actor that stands in for a real one: it hears what a test or the simulator wants to hear, and ignores all else.

#include "actors/interfaces.hpp"
#include "protocol/base/overloaded.hpp"

#include <caf/actor_system.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace belay::sim {

namespace stub {

template <class Handle, class Message, class Heard>
auto handler(typename Handle::pointer self, std::shared_ptr<Heard> heard) {
  return [self, heard](const Message& m) {
    if constexpr (std::is_invocable_v<Heard&, const Message&>)
      (*heard)(m);
    if constexpr (std::is_same_v<Message, actors::stop_atom>)
      self->quit();
  };
}

/// The message of caf::reacts_to.
template <class Signature>
struct message_of;
template <class Message>
struct message_of<caf::reacts_to<Message>> {
  using type = Message;
};

template <class Handle, class Heard, class... Signatures>
typename Handle::behavior_type behavior(typename Handle::pointer self, const std::shared_ptr<Heard>& heard,
                                        caf::detail::type_list<Signatures...>) {
  return {handler<Handle, typename message_of<Signatures>::type>(self, heard)...};
}

} // namespace stub

/// Spawns an actor with the interface of `Handle`, e.g. `stub_of<fsm_actor>(system, [&](const read_query& q) { ... })`. Each
/// handler takes the messages of its argument's type (`const auto&`: all that no other handler takes); messages without a
/// handler are ignored. It ends with stop_atom. An answer is sent with caf::anon_send.
template <class Handle, class... Handlers>
Handle stub_of(caf::actor_system& system, Handlers... handlers) {
  using heard_type = overloaded<Handlers...>;
  auto heard = std::make_shared<heard_type>(heard_type{std::move(handlers)...});
  return system.spawn([heard](typename Handle::pointer self) -> typename Handle::behavior_type {
    return stub::behavior<Handle>(self, heard, typename Handle::signatures{});
  });
}

} // namespace belay::sim
