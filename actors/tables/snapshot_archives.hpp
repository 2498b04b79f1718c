#pragma once
// Snapshots of operators, piece by piece (docs/contract/11): makes an archive out of the rows of a checkpoint, and
// commands for the log out of an archive. Belongs to the checkpointer, on whose thread it may take its time.

#include "actors/messages.hpp"
#include "protocol/archive/snapshot_archive.hpp"
#include "protocol/state/restore/row_rules.hpp"
#include "protocol/state/restore/stored_digest.hpp"
#include "storage/snapshot_file.hpp"

#include <memory>
#include <unordered_map>

namespace belay::actors {

class snapshot_archives {
public:
  explicit snapshot_archives(storage::checkpoint_store& store) : store_(store) {}

  /// The next piece of the archive; the first call begins it.
  archive_packed pack(const pack_archive& p);
  /// Takes more of the archive. Answers with one command to propose at most, and is to be called again, with or without
  /// more bytes, once that is decided.
  archive_unpacked unpack(unpack_archive& u);
  void close(request_id archive) {
    saving_.erase(archive);
    restoring_.erase(archive);
  }

private:
  // With one row each, the largest are a little larger than a row may be. An archive is a client's, and what it claims is believed
  // only so far.
  static constexpr std::size_t block_bytes_max = std::size_t{64} << 20;

  struct saving {
    raft::snapshot_meta meta;
    std::uint64_t offset = 0;
    std::unique_ptr<archive::archive_writer> writer;
  };
  struct restoring {
    std::string id;
    std::string input; ///< not looked at yet
    archive::archive_reader reader;
    storage::snapshot_parser parser{block_bytes_max};
    std::string state; ///< unpacked and not parsed
    std::shared_ptr<std::vector<state::dirty_row>> rows = std::make_shared<std::vector<state::dirty_row>>();
    state::known_services services;
    state::stored_digest written; ///< what the archive says of its rows, against `digest`
    std::uint64_t digest = 0;     ///< of all its rows
    std::size_t row_bytes = 0; ///< since the last batch
    std::uint64_t batches = 0;
    bool begun = false;
  };

  std::string parse(restoring& r);
  void end_batch(restoring& r, archive_unpacked& answer);

  storage::checkpoint_store& store_;
  std::unordered_map<request_id, saving> saving_;
  std::unordered_map<request_id, restoring> restoring_;
};

} // namespace belay::actors
