#include "actors/node/disk/server_state.hpp"

#include "actors/telemetry/log.hpp"
#include "protocol/base/mutants.hpp"

#include <utility>

namespace belay::actors {

result<server_state>
open_server_state(const std::string& data_dir, const identity& who, storage::file_system& files,
                  const std::function<result<std::shared_ptr<storage::log_store>>()>& open_log,
                  const std::function<result<std::shared_ptr<storage::checkpoint_store>>()>& open_checkpoints,
                  std::uint64_t trailing_entries) {
  auto log = open_log();
  if (!log)
    return log.reason();
  auto checkpoints = open_checkpoints();
  if (!checkpoints)
    return checkpoints.reason();
  auto disk = read_disk(std::move(*log), std::move(*checkpoints), trailing_entries);
  if (!disk)
    return disk.reason();
  if (auto s = check_memory(who.cluster_id, disk->restored); !s)
    return s.reason();
  auto promised = load_promise(data_dir, files);
  if (!promised)
    return promised.reason();
  return server_state{std::move(*disk), std::move(*promised)};
}

void keep_membership_in(raft_peer_settings& settings, const std::string& data_dir, const identity& who,
                        storage::file_system& files) {
  settings.joined = [data_dir, who, &files, last_error = std::string()](std::uint64_t cluster_id) mutable {
    auto now = who;
    now.cluster_id = cluster_id;
    if (auto s = save_identity(data_dir, now, files); !s) {
      if (std::exchange(last_error, s.error()) != s.error())
        log::error("node", "identity not stored; retrying", {{"error", s.error()}});
      return false;
    }
    log::info("node", "data directory assigned to a cluster", {{"cluster", cluster_id}});
    return true;
  };
  settings.taken_in_again = [data_dir, &files] {
    if (auto s = note_left(data_dir, false, files); !s)
      log::error("node", "return of this server to its cluster not stored; it will not rejoin at the next start",
                 {{"error", s.error()}});
  };
  settings.promised = [data_dir, &files](const raft::promise& promised) {
    const auto s = MUTANT(promise_not_durable) ? status(done{}) : save_promise(data_dir, promised, files);
    if (!s)
      log::error("node", "promise for the formation of a cluster not stored; retrying", {{"error", s.error()}});
    return s.ok();
  };
}

} // namespace belay::actors
