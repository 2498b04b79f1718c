#pragma once
// Lists and changes the keys of `encrypt` of this server, one operation at a time
// (protocol/forward/keyring.hpp). Blocks on the disk; run it detached.

#include "actors/interfaces.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <functional>

namespace belay::actors {

class keyring_keeper : public keyring_keeper_actor::base {
public:
  /// Carries out an operation; called on the thread of this actor.
  using operate = std::function<forward::keyring_answer(const forward::keyring_operation&)>;

  keyring_keeper(caf::actor_config& config, node_actors_ptr node_actors, operate keys);

  behavior_type make_behavior() override;

private:
  node_actors_ptr node_actors_;
  operate keys_;
};

} // namespace belay::actors
