#pragma once
// Streams operator snapshots (docs/contract/11): packs rows of a checkpoint into an archive, and
// unpacks an archive into log commands. Belongs to the checkpointer, whose thread may block.

#include "actors/messages.hpp"
#include "actors/tables/archived_rows.hpp"
#include "protocol/archive/snapshot_archive.hpp"
#include "storage/checkpoint/row_proof.hpp"
#include "storage/checkpoint/snapshot_file.hpp"

#include <memory>
#include <unordered_map>

namespace belay::actors {

class snapshot_archives {
public:
  explicit snapshot_archives(storage::checkpoint_store& store) : store_(store) {}

  /// The next piece of the archive; the first call begins it.
  archive_packed pack(const pack_archive& p);
  /// Takes more of the archive. Returns at most one command to propose.
  /// Call it again, with or without more bytes, when that command is decided.
  archive_unpacked unpack(unpack_archive& u);
  void close(request_id archive) {
    saving_.erase(archive);
    restoring_.erase(archive);
  }

private:
  struct saving {
    raft::snapshot_meta meta;
    std::uint64_t offset = 0;
    std::unique_ptr<archive::archive_writer> writer;
    // Every piece is read and checked before it is sent.
    storage::snapshot_parser parser;
    storage::row_sum sum{storage::hash_of_state_rows};
  };
  struct restoring {
    std::string id;
    std::string input; ///< not parsed yet
    archive::archive_reader reader;
    archived_rows all;
    std::string state; ///< unpacked and not parsed
    std::shared_ptr<std::vector<state::dirty_row>> rows = std::make_shared<std::vector<state::dirty_row>>();
    std::uint64_t batched_bytes = 0; ///< bytes of `all` up to the end of the last batch
    std::uint64_t batches = 0;
    bool begun = false;
    bool bootstrap_closed = false; ///< a row shows that there was a first management token
  };

  /// @returns what is wrong with the next piece, or with the whole after the last; empty: nothing
  static std::string prove(saving& s, const storage::checkpoint_store::chunk& piece);
  static std::string parse(restoring& r);
  void end_batch(restoring& r, archive_unpacked& answer);
  static void close_bootstrap(restoring& r);

  storage::checkpoint_store& store_;
  std::unordered_map<request_id, saving> saving_;
  std::unordered_map<request_id, restoring> restoring_;
};

} // namespace belay::actors
