#include "actors/agent/registration_keeper.hpp"

#include "actors/telemetry/fatal_exceptions.hpp"

#include "storage/file_system.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace belay::actors {

namespace {

namespace fs = std::filesystem;

status replace(const std::string& path, const std::string& bytes, bool durable) {
  if (bytes.empty()) {
    std::error_code wrong;
    fs::remove(path, wrong); // it need not exist
    if (wrong)
      return failure{"cannot remove " + path + ": " + wrong.message()};
    return done{};
  }
  return storage::replace_file(storage::posix_file_system(), path, bytes, durable);
}

} // namespace

registration_keeper::registration_keeper(caf::actor_config& config, node_actors_ptr node_actors, std::string directory)
    : registration_keeper_actor::base(config), node_actors_(std::move(node_actors)), directory_(std::move(directory)) {
  end_node_by_exceptions_of(*this, node_actors_, "registration_keeper");
}

registration_keeper_actor::behavior_type registration_keeper::make_behavior() {
  return {
      [this](const keep_registrations& k) { keep(k); },
      [this](stop_atom) { quit(); },
  };
}

void registration_keeper::keep(const keep_registrations& k) {
  registrations_kept answer{k.token, {}};
  const auto note = [&answer](const status& s) {
    if (!s && answer.error.empty())
      answer.error = s.error();
  };
  for (const auto& [name, bytes] : k.files)
    note(replace(directory_ + "/" + name, bytes, k.token != 0));
  if (k.token != 0)
    note(storage::posix_file_system().sync_directory(directory_));
  if (node_actors_->health_checks)
    send(node_actors_->health_checks, std::move(answer));
}

std::string registrations_directory(const std::string& data_dir) {
  return data_dir + "/agent";
}

result<std::vector<std::pair<std::string, std::string>>> open_registrations(const std::string& directory) {
  if (auto made = storage::posix_file_system().make_directory(directory); !made)
    return made.reason();
  // Commands, headers and bodies contain passwords. Earlier versions made it readable for all.
  std::error_code wrong;
  fs::permissions(directory, fs::perms::owner_all, wrong);
  if (wrong)
    return failure{"cannot close " + directory + " to other users: " + wrong.message()};
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& each : fs::directory_iterator(directory, wrong)) {
    const auto name = each.path().filename().string();
    if (each.path().extension() == storage::unfinished_extension) { // the node stopped before renaming it
      std::error_code ignored;
      fs::remove(each.path(), ignored);
      continue;
    }
    std::ifstream in(each.path(), std::ios::binary);
    found.emplace_back(name, std::string(std::istreambuf_iterator<char>(in), {}));
    if (!in.good() && !in.eof())
      return failure{"cannot read " + each.path().string()};
  }
  if (wrong)
    return failure{"cannot read " + directory + ": " + wrong.message()};
  return found;
}

} // namespace belay::actors
