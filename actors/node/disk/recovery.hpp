#pragma once
// A majority of the servers is lost for good: what one of them has becomes a new cluster of this server alone. For an
// operator who knows that none of the others comes back with its data.

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
  /// @returns a failure that says what to do: no data, damaged, the server runs, it is no member of a cluster.
  static result<recovery> open(const std::string& data_dir);

  const raft::member& self() const { return self_; }
  /// As this server knows them.
  const raft::configuration& before() const { return before_; }
  /// Of the log, or of the checkpoint if the log does not go on from it.
  log_index last_index() const { return entries_.last(); }
  /// In this order, each durable: the directory gets a new cluster's number, so that former members are refused; its log
  /// gets an entry that makes this server the only member. All that is in the log counts as committed, also what the
  /// lost cluster never acknowledged. May be done again if it was interrupted.
  status carry_out();

private:
  std::string data_dir_;
  identity who_;
  std::shared_ptr<storage::log_store> log_;
  raft::hard_state hard_;
  raft::log_window entries_;
  std::optional<raft::snapshot_meta> restart_after_; ///< the log on the disk does not go on from this checkpoint
  raft::member self_;
  raft::configuration before_;
};

/// Consul's `raft/peers.json` in the data directory: if it is there, it must name this server and nobody else, the
/// recovery is carried out and the file removed. Servers that are named together there have logs that need not agree, and
/// only one of them can go on: the others start empty.
/// @returns whether there was one; a failure if it cannot be followed: then nothing was changed
result<bool> follow_peers_file(const std::string& data_dir);

} // namespace belay::actors
