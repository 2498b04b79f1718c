#pragma once
// Stores registrations of the agent: one file each in the data directory. Blocks; run it detached.

#include "actors/interfaces.hpp"
#include "protocol/base/result.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <string>
#include <utility>
#include <vector>

namespace belay::actors {

class registration_keeper : public registration_keeper_actor::base {
public:
  /// @pre the directory exists
  registration_keeper(caf::actor_config& config, node_actors_ptr node_actors, std::string directory);

  behavior_type make_behavior() override;

private:
  void keep(const keep_registrations& k);

  node_actors_ptr node_actors_;
  std::string directory_;
};

/// Folder of the registrations.
std::string registrations_directory(const std::string& data_dir);
/// Creates the directory if missing, and reads its files (name, content). Removes unfinished ones.
result<std::vector<std::pair<std::string, std::string>>> open_registrations(const std::string& directory);

} // namespace belay::actors
