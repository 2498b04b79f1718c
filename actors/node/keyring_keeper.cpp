#include "actors/node/keyring_keeper.hpp"

#include "actors/telemetry/fatal_exceptions.hpp"

namespace belay::actors {

keyring_keeper::keyring_keeper(caf::actor_config& config, node_actors_ptr node_actors, operate keys)
    : keyring_keeper_actor::base(config), node_actors_(std::move(node_actors)), keys_(std::move(keys)) {
  end_node_by_exceptions_of(*this, node_actors_, "keyring_keeper");
}

keyring_keeper_actor::behavior_type keyring_keeper::make_behavior() {
  return {
      [this](const operate_keyring& o) {
        if (node_actors_->raft_peer)
          send(node_actors_->raft_peer, keyring_operated{o.from, keys_(o.what)});
      },
      [this](stop_atom) { quit(); },
  };
}

} // namespace belay::actors
