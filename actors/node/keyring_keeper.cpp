#include "actors/node/keyring_keeper.hpp"

#include "actors/telemetry/fatal_exceptions.hpp"

namespace belay::actors {

keyring_keeper::keyring_keeper(caf::actor_config& config, wiring_ptr wires, operate keys)
    : keyring_keeper_actor::base(config), wires_(std::move(wires)), keys_(std::move(keys)) {
  end_node_by_exceptions_of(*this, wires_, "keyring_keeper");
}

keyring_keeper_actor::behavior_type keyring_keeper::make_behavior() {
  return {
      [this](const operate_keyring& o) {
        if (wires_->raft_peer)
          send(wires_->raft_peer, keyring_operated{o.from, keys_(o.what)});
      },
      [this](stop_atom) { quit(); },
  };
}

} // namespace belay::actors
