#pragma once
// Recovers from the permanent loss of a majority: one server's data becomes a new cluster of this
// server alone. Use it only if no other server can return with its data.

#include "actors/node/disk/data_directory.hpp"
#include "actors/node/disk/node_disk.hpp"
#include "protocol/raft/log_window.hpp"

#include <memory>
#include <optional>
#include <string>

namespace belay::actors {

/// The data directory of a stopped server.
class recovery {
public:
  /// @returns a failure that says what to do: no data, damaged, server runs, member of no cluster.
  static result<recovery> open(const std::string& data_dir);

  const raft::member& self() const { return self_; }
  /// The last configuration that this server knows.
  const raft::configuration& before() const { return before_; }
  /// Last index of the log, or of the checkpoint if the log does not continue it.
  log_index last_index() const { return entries_.last(); }
  /// Does these steps, each durable. The directory gets a new cluster's number, so that former
  /// members are rejected. Its log gets an entry that makes this server the only member. All log
  /// entries count as committed, even unacknowledged ones. Can be repeated after an interruption.
  status carry_out();

private:
  std::string data_dir_;
  identity who_;
  std::shared_ptr<storage::log_store> log_;
  raft::hard_state hard_;
  raft::log_window entries_;
  std::optional<raft::snapshot_meta> restart_after_; ///< the log on the disk does not continue this checkpoint
  raft::member self_;
  raft::configuration before_;
};

/// Follows Consul's `raft/peers.json` in the data directory, if it exists: it must name only
/// this server. Then the recovery is carried out and the file removed. Logs of several named
/// servers need not agree, so only one of them can continue: the others start empty.
/// @param files removes the file, durably
/// @returns whether there was one; a failure if it cannot be followed: then nothing was changed
result<bool> follow_peers_file(const std::string& data_dir, storage::file_system& files = storage::posix_file_system());

} // namespace belay::actors
