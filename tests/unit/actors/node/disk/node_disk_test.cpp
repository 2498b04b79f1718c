// A server starts with as many entries before its checkpoint as `raft_trailing_logs` says: lagging
// followers get entries, not a snapshot. A larger setting was once ignored at each restart.

#include "actors/node/disk/node_disk.hpp"
#include "protocol/state/commands.hpp"
#include "protocol/wire/command_codec.hpp"
#include "storage/checkpoint/lmdb_checkpoint.hpp"
#include "tests/harness/scratch.hpp"

#include <catch2/catch.hpp>

using namespace belay;

namespace {

/// Has 100 entries. Records the first one that was loaded, and calls of use_sectors().
class requested_log final : public storage::log_store {
public:
  using log_store::load;
  result<storage::loaded_log> load(log_index needed) override {
    requested = needed;
    storage::loaded_log all;
    all.hard.term = term_id{1};
    for (auto i = std::max<std::uint64_t>(needed.value, first); i <= last; ++i)
      all.entries.push_back({log_index{i}, term, {}, raft::entry_kind::noop, {}});
    if (command) {
      all.entries.back().kind = raft::entry_kind::command;
      all.entries.back().data = make_payload(wire::encode_command(*command));
    }
    all.next = log_index{last + 1};
    return all;
  }
  status append(const std::vector<raft::persist_batch>&) override { return done{}; }
  result<bool> compact(log_index, std::size_t) override { return false; }

  void use_sectors() override { uses_sectors = true; }

  std::optional<state::command> command; ///< the last entry, unless it is a noop
  std::uint64_t first = 1, last = 100;   ///< indexes of its entries
  term_id term{1};
  log_index requested;
  bool uses_sectors = false;
};

std::shared_ptr<storage::checkpoint_store> checkpoint_at(const std::string& folder, std::uint64_t index) {
  auto store = storage::lmdb_checkpoint::open(folder);
  REQUIRE(store);
  storage::checkpoint_delta d;
  d.meta.index = log_index{index};
  d.meta.term = term_id{1};
  d.full = true;
  REQUIRE((*store)->commit(d));
  return std::shared_ptr<storage::checkpoint_store>(std::move(*store));
}

} // namespace

TEST_CASE("a start loads raft_trailing_logs entries before the checkpoint", "[disk]") {
  for (const auto& [trailing, first] :
       {std::pair{0, 81}, std::pair{1, 80}, std::pair{50, 31}, std::pair{79, 2}, std::pair{80, 0}, std::pair{500, 0}}) {
    INFO(trailing);
    const harness::scratch_folder folder;
    const auto log = std::make_shared<requested_log>();
    const auto disk = actors::read_disk(log, checkpoint_at(folder.path(), 80), static_cast<std::uint64_t>(trailing));
    REQUIRE(disk);
    CHECK(log->requested == log_index{static_cast<std::uint64_t>(first)});
    CHECK(disk->restored.snapshot.index == log_index{80});
    CHECK(disk->restored.entries.front().index == log_index{std::max<std::uint64_t>(log->requested.value, 1)});
  }
}

// The older generation of a checkpoint is useful only with all entries after it.
TEST_CASE("a log that is begun anew at a checkpoint does not reach back before it", "[disk]") {
  const auto begins = [](std::uint64_t first, std::uint64_t last) {
    const harness::scratch_folder folder;
    const auto log = std::make_shared<requested_log>();
    log->first = first;
    log->last = last;
    const auto disk = actors::read_disk(log, checkpoint_at(folder.path(), 80), 1000);
    REQUIRE(disk);
    return disk->log_begins.value;
  };
  CHECK(begins(1, 100) == 1);
  CHECK(begins(51, 90) == 51);
  CHECK(begins(51, 79) == 81); // the core drops these entries
  CHECK(begins(81, 90) == 81); // it did so in an earlier life; the header of the segment still says 1
}

// The process ended between the installation of a leader's checkpoint and the end of its old log.
// `belay operator check` applied these entries, and no new older generation was written.
TEST_CASE("a log that contradicts the checkpoint counts as none", "[disk]") {
  const harness::scratch_folder folder;
  const auto log = std::make_shared<requested_log>();
  log->term = term_id{2};
  const auto disk = actors::read_disk(log, checkpoint_at(folder.path(), 80), 1000);
  REQUIRE(disk);
  CHECK(disk->restored.entries.empty());
  CHECK(disk->restored.snapshot.index == log_index{80});
  CHECK(disk->log_begins == log_index{81});
}

// An operator may go back to 0.2.0, whose log has no sectors, until an entry of feature level 8.
TEST_CASE("the log uses sectors once it has an entry that 0.2.0 cannot read", "[disk]") {
  const auto uses_sectors = [](std::optional<state::command> last) {
    const harness::scratch_folder folder;
    const auto log = std::make_shared<requested_log>();
    log->command = std::move(last);
    REQUIRE(actors::read_disk(log, checkpoint_at(folder.path(), 80)));
    return log->uses_sectors;
  };
  CHECK_FALSE(uses_sectors(std::nullopt));
  CHECK_FALSE(uses_sectors(state::session_destroy{}));
  CHECK_FALSE(uses_sectors(state::session_expire{}));
  CHECK(uses_sectors(state::waits_withdraw{}));
}
