// The drill: two of three servers are lost for good, and the third one continues alone.

#include "actors/node/disk/recovery.hpp"
#include "storage/checkpoint/lmdb_checkpoint.hpp"
#include "storage/file_system.hpp"
#include "storage/log/segment_log.hpp"
#include "tests/harness/scratch.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

using namespace belay;
using namespace belay::actors;

namespace {

using harness::scratch_folder;

raft::member lost_member(std::uint64_t id) {
  const auto n = std::to_string(id);
  return {node_id{id}, "00000000-0000-4000-8000-00000000000" + n, "n" + n, "127.0.0.1:830" + n};
}

/// A server of three, with a log of three entries, the last one possibly not committed.
identity survivor(const std::string& path) {
  auto who = *open_data_directory(path, "", "dc1");
  auto self = lost_member(3);
  self.id = who.id;
  self.uuid = who.uuid;
  auto opened = storage::segment_log::open(storage::posix_file_system(), path + "/raft");
  REQUIRE(opened.ok());
  const auto log = std::move(*opened);
  REQUIRE(log->load().ok());
  raft::persist_batch b;
  b.token = 1;
  b.hard = raft::hard_state{term_id{4}, who.id};
  const auto first = encode(raft::configuration_of_voters({lost_member(1), lost_member(2), self}));
  b.entries.push_back({log_index{1}, term_id{1}, {}, raft::entry_kind::configuration, make_payload(first)});
  b.entries.push_back({log_index{2}, term_id{2}, cluster_time{5}, raft::entry_kind::noop, make_payload({})});
  b.entries.push_back({log_index{3}, term_id{4}, cluster_time{9}, raft::entry_kind::noop, make_payload({})});
  REQUIRE(log->append({b}).ok());
  who.cluster_id = 77;
  REQUIRE(save_identity(path, who).ok());
  return who;
}

storage::loaded_log log_of(const std::string& path) {
  auto log = storage::segment_log::open(storage::posix_file_system(), path + "/raft");
  REQUIRE(log.ok());
  auto loaded = (*log)->load();
  REQUIRE(loaded.ok());
  return std::move(*loaded);
}

} // namespace

TEST_CASE("a survivor becomes a cluster of its own, with all it has and another number", "[actors][recovery]") {
  scratch_folder d;
  const auto before = survivor(d.path());
  {
    auto found = recovery::open(d.path());
    REQUIRE(found.ok());
    CHECK(found->self().name == "n3");
    CHECK(found->before().members.size() == 3);
    CHECK(found->last_index() == log_index{3});
    REQUIRE(found->carry_out().ok());
  }
  const auto now = read_identity(d.path());
  REQUIRE(now.ok());
  CHECK(now->id == before.id);
  CHECK(now->cluster_id != 0);
  CHECK(now->cluster_id != before.cluster_id); // a returning server of the old cluster is rejected
  const auto log = log_of(d.path());
  REQUIRE(log.entries.size() == 4);
  CHECK(log.hard == raft::hard_state{term_id{5}, {}});
  CHECK(log.entries.back().time == cluster_time{9});

  // It leads alone, and everything that it had is committed.
  raft::core core(now->id, {}, {log.hard, {}, log.entries}, 1);
  for (int i = 1; i < 10 && core.commit_index() < log_index{5}; ++i) {
    core.tick(std::chrono::milliseconds(25) * i);
    while (true) {
      const auto r = core.take_ready();
      if (!r.persist)
        break;
      core.persisted(r.persist->token, std::chrono::milliseconds(25) * i);
    }
  }
  CHECK(core.is_leader());
  CHECK(core.commit_index() >= log_index{5});
  CHECK(core.config().voters == std::vector{now->id});
}

TEST_CASE("a survivor that stopped while it received a snapshot continues from the snapshot", "[actors][recovery]") {
  // The checkpoint is in force, and the log is still the old one: it ends earlier, or is of another
  // history. An entry at its end would be dropped with it: the server would wait for the lost ones.
  scratch_folder d;
  const auto who = survivor(d.path());
  auto self = lost_member(3);
  self.id = who.id;
  self.uuid = who.uuid;
  const auto at = GENERATE(log_index{8}, log_index{3}, log_index{2});
  CAPTURE(at.value);
  raft::snapshot_meta meta{at, term_id{6}, cluster_time{20}, raft::configuration_of_voters({lost_member(1), self})};
  {
    auto store = storage::lmdb_checkpoint::open(d.path());
    REQUIRE(store.ok());
    storage::checkpoint_delta all;
    all.meta = meta;
    all.digest = state::machine().digest();
    all.full = true;
    REQUIRE((*store)->commit(all).ok());
  }
  {
    auto found = recovery::open(d.path());
    REQUIRE(found.ok());
    CHECK(found->last_index() == at);
    CHECK(found->before() == meta.config);
    REQUIRE(found->carry_out().ok());
  }
  const auto log = log_of(d.path());
  REQUIRE(log.entries.size() == 1);
  CHECK(log.entries.front().index == at.next());
  CHECK(log.hard == raft::hard_state{term_id{7}, {}});
  const raft::core core(who.id, {}, {log.hard, meta, log.entries}, 1);
  CHECK(core.config().voters == std::vector{who.id});
  CHECK(core.last_index() == at.next());
}

TEST_CASE("a server that runs, or is not a member, is not recovered", "[actors][recovery]") {
  scratch_folder d;
  CHECK_FALSE(recovery::open(d.path()).ok());
  (void)survivor(d.path());
  const auto running = storage::segment_log::open(storage::posix_file_system(), d / "raft");
  REQUIRE(running.ok());
  CHECK_FALSE(recovery::open(d.path()).ok());
}

TEST_CASE("peers.json is followed if it names this server alone", "[actors][recovery]") {
  scratch_folder d;
  const auto who = survivor(d.path());
  CHECK_FALSE(*follow_peers_file(d.path())); // there is none
  const auto one = R"({"id":")" + who.uuid + R"(","address":"127.0.0.1:8303","non_voter":false})";
  for (const auto& text : {std::string("x"), std::string("{}"), std::string("[]"), "[" + one + "," + one + "]",
                           std::string(R"(["127.0.0.1:8301"])"),
                           R"([{"id":")" + who.uuid + R"(","address":"127.0.0.1:8303","non_voter":true}])"}) {
    CAPTURE(text);
    d.write("raft/peers.json", text);
    CHECK_FALSE(follow_peers_file(d.path()).ok());
    CHECK(read_identity(d.path())->cluster_id == 77);
  }
  d.write("raft/peers.json", GENERATE_COPY("[" + one + "]", std::string(R"(["127.0.0.1:8303"])")));
  const auto followed = follow_peers_file(d.path());
  REQUIRE(followed.ok());
  CHECK(*followed);
  CHECK_FALSE(std::filesystem::exists(d / "raft/peers.json"));
  CHECK(log_of(d.path()).entries.size() == 4);
  CHECK(read_identity(d.path())->cluster_id != 77);
}

TEST_CASE("peers.json stays away after a power failure", "[actors][recovery]") {
  // Applied again, it would cut off the servers that joined meanwhile.
  struct noted_files final : storage::file_system {
    std::vector<std::string> calls;
    storage::file_system& all = storage::posix_file_system();

    result<std::unique_ptr<storage::file>> open(const std::string& path, storage::open_mode mode) override {
      return all.open(path, mode);
    }
    status rename(const std::string& from, const std::string& to) override { return all.rename(from, to); }
    status remove(const std::string& path) override {
      calls.push_back("remove " + path);
      return all.remove(path);
    }
    status sync_directory(const std::string& directory) override {
      calls.push_back("sync " + directory);
      return all.sync_directory(directory);
    }
    status make_directory(const std::string& directory) override { return all.make_directory(directory); }
    result<std::vector<std::string>> list(const std::string& directory) override { return all.list(directory); }
    result<std::optional<std::string>> read_if_there(const std::string& path) override {
      return all.read_if_there(path);
    }
    result<std::unique_ptr<storage::file_lock>> lock(const std::string& directory) override {
      return all.lock(directory);
    }
  } files;
  scratch_folder d;
  (void)survivor(d.path());
  d.write("raft/peers.json", R"(["127.0.0.1:8303"])");
  REQUIRE(follow_peers_file(d.path(), files).ok());
  const std::string raft = std::string(d.path()) + "/raft";
  CHECK(files.calls == std::vector<std::string>{"remove " + raft + "/peers.json", "sync " + raft});
}
