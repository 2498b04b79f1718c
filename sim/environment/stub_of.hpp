#pragma once
// A stub actor: it handles the messages that a test or the simulator chooses and ignores the rest.

#include "actors/interfaces.hpp"
#include "protocol/base/overloaded.hpp"

#include <caf/actor_system.hpp>

#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace belay::sim {

namespace stub {

/// The message type of a caf::reacts_to.
template <class Signature>
struct message_of;
template <class Message>
struct message_of<caf::reacts_to<Message>> {
  using type = Message;
};

/// A handler for each message of an interface; an empty function: the message is ignored.
template <class Signatures>
struct ears_of;
template <class... Signatures>
struct ears_of<caf::detail::type_list<Signatures...>> {
  using type = std::tuple<std::function<void(const typename message_of<Signatures>::type&)>...>;
};
template <class Handle>
using ears = typename ears_of<typename Handle::signatures>::type;

template <class Message, class Heard>
void listen(std::function<void(const Message&)>& ear, const std::shared_ptr<Heard>& received) {
  if constexpr (std::is_invocable_v<Heard&, const Message&>)
    ear = [received](const Message& m) { (*received)(m); };
}

/// Instantiated in stub_of.cpp for each stubbed interface, because an actor is slow to compile.
template <class Handle>
Handle spawn(caf::actor_system& system, ears<Handle> ears);

} // namespace stub

/// Spawns an actor with the interface of `Handle`, e.g. `stub_of<fsm_actor>(system, [&](const
/// read_query& q) { ... })`. Each handler takes messages of its argument's type (`const auto&`: all
/// that no other handler takes); others are ignored. It ends on stop_atom. Reply by anon_send.
template <class Handle, class... Handlers>
Handle stub_of(caf::actor_system& system, Handlers... handlers) {
  using received_type = overloaded<Handlers...>;
  const auto received = std::make_shared<received_type>(received_type{std::move(handlers)...});
  stub::ears<Handle> ears;
  std::apply([&](auto&... each) { (stub::listen(each, received), ...); }, ears);
  return stub::spawn<Handle>(system, std::move(ears));
}

} // namespace belay::sim
