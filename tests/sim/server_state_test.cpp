// How the program opens a data directory: complete, without its log, without its identity.

#include "actors/node/disk/server_state.hpp"
#include "sim/disks/simulated_disk.hpp"
#include "tests/sim/contains.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;
using sim::simulated_disk;
using sim::testing::contains;

namespace {

constexpr auto directory = simulated_disk::data_directory;
constexpr auto uuid = "11111111-2222-4333-8444-555555555555";

/// A server that is restarted repeatedly on one disk.
struct state_folder {
  simulated_disk disk{8192};
  sim::tape dullest{0, {}};
  std::uint64_t next_id = 7;
  raft_peer_settings settings;

  result<identity> open() {
    return open_data_directory(directory, uuid, "dc1", disk.files(), [this] { return next_id; });
  }
  result<server_state> state_of(const identity& who) {
    const auto checkpoints = [this]() -> result<std::shared_ptr<storage::checkpoint_store>> {
      return std::shared_ptr<storage::checkpoint_store>(disk.checkpoints());
    };
    return open_server_state(
        directory, who, disk.files(), [this] { return disk.open_log(); }, checkpoints);
  }
  /// Joins cluster 77, and writes a term to its log, durably. Then its power fails.
  identity joins_and_ends() {
    const auto who = *open();
    const auto found = state_of(who);
    REQUIRE(found.ok());
    raft::persist_batch b;
    b.token = 1;
    b.hard = raft::hard_state{term_id{3}, node_id{}};
    REQUIRE(found->disk.log->append({b}).ok());
    keep_membership_in(settings, directory, who, disk.files());
    REQUIRE(settings.promised(raft::promise{2, {}, false, {5}}));
    REQUIRE(settings.joined(77));
    end();
    return who;
  }
  void end() { disk.crash(sim::crash_kind::power, dullest, {}); }
};

} // namespace

TEST_CASE("server_state: what a server must remember survives a power loss") {
  state_folder p;
  const auto who = p.joins_and_ends();
  const auto again = p.open();
  REQUIRE(again.ok());
  CHECK(again->id == who.id);
  CHECK(again->cluster_id == 77);
  const auto found = p.state_of(*again);
  REQUIRE(found.ok());
  CHECK(found->disk.restored.hard.term == term_id{3});
  CHECK(found->promised.round == 2);
  CHECK(found->promised.refused == std::vector<std::uint64_t>{5});
}

TEST_CASE("server_state: without its log a member does not start, and continues when it is mounted again") {
  state_folder p;
  p.joins_and_ends();
  p.disk.lose(simulated_disk::part::log);
  const auto who = p.open();
  REQUIRE(who.ok());
  const auto refused = p.state_of(*who);
  REQUIRE_FALSE(refused.ok());
  CHECK(contains(refused.error(), "check that everything is mounted"));
  p.end();
  p.disk.bring_back();
  CHECK(p.state_of(*p.open()).ok());
}

TEST_CASE("server_state: a log without its identity is left alone; without both it is another server") {
  state_folder p;
  const auto before = p.joins_and_ends();
  p.next_id = 8;
  p.disk.lose(simulated_disk::part::identity);
  const auto refused = p.open();
  REQUIRE_FALSE(refused.ok());
  CHECK(contains(refused.error(), "formation"));
  CHECK(contains(refused.error(), "lost its identity"));
  p.disk.bring_back();
  CHECK(p.open()->id == before.id);
  p.disk.wipe();
  const auto other = p.open();
  REQUIRE(other.ok());
  CHECK(other->id == node_id{8});
  CHECK(p.state_of(*other).ok());
}
