// The window of changes beside a checkpoint, and what happens if one of the two is older.

#include "storage/checkpoint/lmdb_checkpoint.hpp"
#include "tests/harness/scratch.hpp"
#include "tests/storage/stored_row.hpp"

#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace belay::tests::kept_window {

namespace fs = std::filesystem;
using harness::scratch_folder;
using storage::checkpoint_delta;
using storage::checkpoint_info;
using storage::kept_delta;
using storage::lmdb_checkpoint;

namespace {

using kept_rows = std::map<std::pair<std::uint64_t, std::uint64_t>, std::string>;
struct window {
  std::uint64_t floor = 0;
  kept_rows rows;
  bool operator==(const window&) const = default;
};

checkpoint_info at(std::uint64_t index, std::uint64_t digest = 0) {
  checkpoint_info i;
  i.meta.index = log_index{index};
  i.meta.term = term_id{1};
  i.meta.config.members = {{node_id{1}, "u1", "n1", "127.0.0.1:1"}};
  i.meta.config.voters = {node_id{1}};
  i.digest = digest == 0 ? index * 7 : digest;
  return i;
}

std::string value_of(std::uint64_t index, std::uint64_t effect = 0) {
  return "change " + std::to_string(index) + '.' + std::to_string(effect) + std::string(index % 50 * 20, 'v');
}

/// All changes of the entries from `from` to `to`, two of each.
kept_delta changes(std::optional<std::uint64_t> behind, std::uint64_t floor, std::uint64_t from, std::uint64_t to) {
  kept_delta d;
  if (behind)
    d.behind = log_index{*behind};
  d.floor = log_index{floor};
  for (auto i = from; i <= to; ++i)
    for (std::uint64_t effect = 0; effect < 2; ++effect)
      d.rows.push_back(storage::stored_change(log_index{i}, effect, value_of(i, effect)));
  return d;
}
window expected(std::uint64_t floor, std::uint64_t to) {
  window w{floor, {}};
  for (auto i = floor + 1; i <= to; ++i)
    for (std::uint64_t effect = 0; effect < 2; ++effect)
      w.rows[{i, effect}] = value_of(i, effect);
  return w;
}

/// One row has the digest of the whole, the others have none.
constexpr std::uint8_t digest_table = 9;
std::optional<std::uint64_t> hash_of(std::uint8_t table, std::string_view, std::string_view value) {
  return table == digest_table ? std::stoull(std::string(value)) : 0;
}

checkpoint_delta delta_of(const checkpoint_info& i, bool full) {
  checkpoint_delta d{i.meta, i.digest, full, {}};
  d.rows.push_back(storage::stored_row(digest_table, "digest", std::to_string(i.digest)));
  return d;
}

storage::lmdb_checkpoint_options options_with(storage::lmdb_checkpoint_options o = {}) {
  o.row_hash = hash_of;
  return o;
}

std::unique_ptr<lmdb_checkpoint> open_store(const std::string& path, storage::lmdb_checkpoint_options o = {}) {
  auto s = lmdb_checkpoint::open(path, options_with(o));
  if (!s)
    FAIL(s.error());
  return std::move(s).value();
}

void commit(lmdb_checkpoint& store, std::uint64_t index, bool full = false) {
  auto d = delta_of(at(index), full);
  d.rows.push_back(storage::stored_row(1, "k" + std::to_string(index % 5), std::to_string(index)));
  const auto s = store.commit(d);
  if (!s)
    FAIL(s.error());
}

void keep(lmdb_checkpoint& store, std::uint64_t next, const kept_delta& d) {
  const auto kept = store.keep_changes(at(next), d);
  if (!kept)
    FAIL(kept.error());
  CHECK(*kept);
}

/// The stored window; nullopt: there is none for the current checkpoint.
std::optional<window> load(lmdb_checkpoint& store) {
  window w;
  const auto floor = store.load_changes([&](log_index i, std::uint64_t effect, std::string_view value) {
    w.rows[{i.value, effect}] = value;
  });
  if (!floor)
    FAIL(floor.error());
  if (!*floor)
    return std::nullopt;
  w.floor = (*floor)->value;
  return w;
}

} // namespace

TEST_CASE("the stored window of changes is loaded after a restart") {
  scratch_folder scratch;
  {
    auto store = open_store(scratch.path());
    CHECK(load(*store) == std::nullopt);
    keep(*store, 10, changes({}, 3, 4, 10));
    commit(*store, 10);
  }
  {
    auto store = open_store(scratch.path());
    CHECK(load(*store) == expected(3, 10));
    keep(*store, 30, changes(10, 8, 11, 30)); // 4 to 8 were dropped
    commit(*store, 30);
    CHECK(load(*store) == expected(8, 30));
  }
  auto store = open_store(scratch.path());
  CHECK(load(*store) == expected(8, 30));
  // An existing one gets another value; all others are dropped.
  auto again = changes(30, 29, 31, 31);
  again.rows.insert(again.rows.begin(), storage::stored_change(log_index{30}, 1, "another"));
  keep(*store, 31, again);
  commit(*store, 31);
  auto w = expected(29, 31);
  w.rows[{30, 1}] = "another";
  CHECK(load(*store) == w);
  keep(*store, 40, changes(31, 40, 1, 0)); // an entry larger than the window has left nothing
  commit(*store, 40);
  CHECK(load(*store) == window{40, {}});
  keep(*store, 41, changes(40, 40, 41, 41));
  commit(*store, 41);
  CHECK(load(*store) == expected(40, 41));
}

TEST_CASE("a window that is ahead of its checkpoint serves changes up to the checkpoint") {
  // The window is written first. Then the power fails, or the disk is full.
  scratch_folder scratch;
  auto store = open_store(scratch.path());
  keep(*store, 10, changes({}, 0, 1, 10));
  commit(*store, 10);
  keep(*store, 20, changes(10, 4, 11, 20));
  SECTION("also after a restart") {
    store.reset();
    store = open_store(scratch.path());
  }
  SECTION("there and then") {}
  CHECK(load(*store) == expected(4, 10));
  SECTION("it continues from the checkpoint: other changes may have followed it") {
    auto other = changes(10, 5, 11, 14);
    other.rows.back() = storage::stored_change(log_index{14}, 1, "another");
    keep(*store, 14, other);
    commit(*store, 14);
    auto w = expected(5, 14);
    w.rows[{14, 1}] = "another";
    CHECK(load(*store) == w);
  }
  SECTION("it continues from its own end") {
    keep(*store, 30, changes(20, 5, 21, 30));
    CHECK(load(*store) == expected(5, 10));
    commit(*store, 30);
    CHECK(load(*store) == expected(5, 30));
  }
  SECTION("every change that the checkpoint has was dropped from it") {
    keep(*store, 30, changes(20, 25, 26, 30));
    CHECK(load(*store) == window{10, {}});
    commit(*store, 30);
    CHECK(load(*store) == expected(25, 30));
  }
}

TEST_CASE("a window that belongs to another checkpoint is not used") {
  scratch_folder scratch, leader;
  auto store = open_store(scratch.path());
  keep(*store, 10, changes({}, 0, 1, 10));
  commit(*store, 10);
  SECTION("a server of an earlier version has written a newer one") {
    commit(*store, 15);
  }
  SECTION("a leader has sent one") {
    auto from = open_store(leader.path());
    commit(*from, 50);
    const auto c = from->read_snapshot(log_index{}, 0, 1 << 20);
    REQUIRE(c.ok());
    REQUIRE(store->write_snapshot(c->meta, 0, *c->bytes, true).ok());
  }
  SECTION("it has the same index and other rows") {
    const auto i = at(10, 99);
    REQUIRE(store->commit(delta_of(i, true)).ok());
  }
  CHECK(load(*store) == std::nullopt);
  store.reset();
  store = open_store(scratch.path());
  CHECK(load(*store) == std::nullopt);
  // A window that continues from somewhere else is rejected, and nothing changes.
  const auto kept = store->keep_changes(at(60), changes(15, 0, 16, 60));
  REQUIRE(kept.ok());
  CHECK_FALSE(*kept);
  keep(*store, 60, changes({}, 20, 21, 60));
  commit(*store, 60);
  CHECK(load(*store) == expected(20, 60));
}

TEST_CASE("a replaced window leaves nothing of the one before") {
  scratch_folder scratch;
  auto store = open_store(scratch.path());
  keep(*store, 10, changes({}, 0, 1, 10));
  commit(*store, 10);
  keep(*store, 12, changes({}, 11, 12, 12));
  CHECK(load(*store) == window{10, {}});
  commit(*store, 12, true);
  CHECK(load(*store) == expected(11, 12));
  CHECK_FALSE(fs::exists(scratch / "state/new_changes.mdb"));
}

TEST_CASE("a large window is written in parts, and grows with its file") {
  scratch_folder scratch;
  storage::lmdb_checkpoint_options tiny;
  tiny.map_bytes = 1 << 20;
  auto store = open_store(scratch.path(), tiny);
  const auto large = [](std::optional<std::uint64_t> behind, std::uint64_t floor, std::uint64_t from,
                        std::uint64_t to) {
    auto d = changes(behind, floor, from, to);
    for (auto& row : d.rows)
      row = storage::stored_change(row.index, row.effect,
                                   value_of(row.index.value, row.effect) + std::string(20'000, 'x'));
    return d;
  };
  const auto larger = [](window w) {
    for (auto& [position, value] : w.rows)
      value += std::string(20'000, 'x');
    return w;
  };
  keep(*store, 500, large({}, 0, 1, 500));
  commit(*store, 500);
  CHECK(load(*store) == larger(expected(0, 500)));
  keep(*store, 900, large(500, 400, 501, 900));
  commit(*store, 900);
  CHECK(load(*store) == larger(expected(400, 900)));
  const auto size = fs::file_size(scratch / "state/changes.mdb");
  for (std::uint64_t i = 900; i < 3000; i += 100) {
    keep(*store, i + 100, large(i, i - 400, i + 1, i + 100));
    commit(*store, i + 100);
  }
  CHECK(load(*store) == larger(expected(2500, 3000)));
  CHECK(fs::file_size(scratch / "state/changes.mdb") < 2 * size); // dropped rows make room
}

TEST_CASE("when the disk is full, the window stays unchanged") {
  scratch_folder scratch;
  const auto code = [&] {
    const auto child = fork();
    if (child != 0) {
      int status = 0;
      return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    auto store = open_store(scratch.path());
    keep(*store, 10, changes({}, 0, 1, 10));
    commit(*store, 10);
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{300'000, 300'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (const auto& d : {changes(10, 0, 11, 2000), changes({}, 0, 1, 2000)}) {
      const auto kept = store->keep_changes(at(2000), d);
      if (kept.ok() || kept.reason().kind != failure_kind::no_space)
        _exit(1);
      if (load(*store) != expected(0, 10))
        _exit(2);
    }
    // The checkpoint does not depend on the window, and works without it.
    const auto i = at(12);
    if (!store->commit(delta_of(i, false)))
      _exit(3);
    _exit(load(*store) == std::nullopt ? 0 : 4);
  }();
  CHECK(code == 0);
  auto store = open_store(scratch.path());
  CHECK(load(*store) == std::nullopt);
}

TEST_CASE("changed bytes in the window are found, and the next one is whole") {
  // A server must start without a window that cannot be read.
  scratch_folder scratch;
  {
    auto store = open_store(scratch.path());
    keep(*store, 200, changes({}, 0, 1, 200));
    commit(*store, 200);
  }
  const auto file = scratch / "state/changes.mdb";
  std::stringstream buffer;
  buffer << std::ifstream(file, std::ios::binary).rdbuf();
  std::string damaged;
  SECTION("a change") {
    damaged = buffer.str();
    const auto offset = damaged.find(value_of(77, 1));
    REQUIRE(offset != std::string::npos);
    damaged[offset] ^= 1;
  }
  SECTION("the position of a change") {
    damaged = buffer.str();
    const std::string key("\0\0\0\0\0\0\0\x4d\0\0\0\0\0\0\0\1", 16);
    REQUIRE(damaged.find(key) != std::string::npos);
    for (auto offset = damaged.find(key); offset != std::string::npos; offset = damaged.find(key, offset + 1))
      damaged[offset + 15] = 2;
  }
  SECTION("all of it") {
    damaged = std::string(8192, 'x');
  }
  std::ofstream(file, std::ios::binary | std::ios::trunc) << damaged;
  auto store = open_store(scratch.path());
  CHECK_FALSE(store->load_changes([](auto, auto, auto) {}).ok());
  keep(*store, 201, changes({}, 0, 1, 201));
  commit(*store, 201);
  CHECK(load(*store) == expected(0, 201));
}

TEST_CASE("a process killed at any moment leaves a window that fits its checkpoint") {
  // Situation: windows and checkpoints in turn, some of them whole. Event: SIGKILL after a few.
  scratch_folder scratch;
  constexpr std::uint64_t span = 40;
  std::uint64_t begin = 1;
  for (int round = 0; round < 12; ++round) {
    int pipe_ends[2];
    REQUIRE(pipe(pipe_ends) == 0);
    const auto child = fork();
    if (child == 0) {
      auto opened = lmdb_checkpoint::open(scratch.path(), options_with());
      if (!opened)
        _exit(1);
      auto& store = **opened;
      for (std::uint64_t i = begin;; ++i) {
        const auto floor = i > span ? i - span : 0;
        const bool all = i == begin || i % 7 == 0;
        const auto d = all ? changes({}, floor, floor + 1, i) : changes(i - 1, floor, i, i);
        const auto kept = store.keep_changes(at(i), d);
        if (!kept || !*kept)
          _exit(2);
        if (write(pipe_ends[1], "k", 1) != 1)
          _exit(3);
        const auto now = at(i);
        if (!store.commit(delta_of(now, i % 5 == 0)))
          _exit(4);
        if (write(pipe_ends[1], "c", 1) != 1)
          _exit(5);
      }
    }
    REQUIRE(child > 0);
    close(pipe_ends[1]);
    char response = 0;
    for (int n = 0; n < 3 + 3 * round; ++n)
      REQUIRE(read(pipe_ends[0], &response, 1) == 1);
    REQUIRE(kill(child, SIGKILL) == 0);
    int ended = 0;
    REQUIRE(waitpid(child, &ended, 0) == child);
    CHECK(WIFSIGNALED(ended));
    close(pipe_ends[0]);
    auto store = open_store(scratch.path());
    const auto info = store->info();
    REQUIRE(info.ok());
    REQUIRE(*info);
    const auto index = (*info)->meta.index.value;
    const auto there = load(*store);
    REQUIRE(there);
    const auto floor = index > span ? index - span : 0;
    CHECK(there->floor >= floor);
    CHECK(there->floor <= floor + 1); // the window may begin one index later
    CHECK(*there == expected(there->floor, index));
    begin = index + 1;
  }
}

} // namespace belay::tests::kept_window
