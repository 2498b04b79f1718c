// Situation: a commit succeeds, but the file differs from what was written. Memory or a disk
// changed a bit, or a row's bytes differ from the row. Event: the log before it is dropped, and the
// server restarts. What would go wrong: the checkpoint cannot be loaded; the server never starts.

#include "storage/checkpoint/lmdb_checkpoint.hpp"
#include "tests/harness/scratch.hpp"
#include "tests/storage/stored_row.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <map>

namespace belay::tests::proven {

namespace fs = std::filesystem;
using harness::scratch_folder;
using storage::checkpoint_delta;
using storage::lmdb_checkpoint;
using storage::row_change;
using storage::stored_row;

namespace {

using rows_by_key = std::map<std::string, std::string>;

struct story {
  explicit story(const fs::path& path) : folder(path.string()) { open(); }

  void open() {
    store.reset();
    auto o = storage::of_bytes();
    o.before_proof = [this] {
      if (before_proof)
        before_proof();
    };
    auto opened = lmdb_checkpoint::open(folder, o);
    if (!opened)
      FAIL(opened.error());
    store = std::move(*opened);
  }

  checkpoint_delta delta(std::vector<row_change> rows, bool full = false) {
    checkpoint_delta d;
    d.meta.index = log_index{++index};
    d.meta.term = term_id{1};
    d.full = full;
    d.rows = std::move(rows);
    d = storage::with_digest(*store, d);
    d.hash_of = [this](std::size_t i) {
      std::string buffer;
      const auto& r = last.rows[i];
      return *storage::hash_of_bytes(r.table, r.key, value_of(r, buffer));
    };
    last = d;
    return d;
  }
  status commit(std::vector<row_change> rows, bool full = false) { return store->commit(delta(std::move(rows), full)); }
  void must(const status& s) {
    if (!s)
      FAIL(s.error());
  }

  rows_by_key rows() {
    rows_by_key all;
    const auto s =
        store->load([&](std::uint8_t, std::string_view key, std::string_view value) { all.emplace(key, value); });
    if (!s)
      FAIL(s.error());
    return all;
  }
  bool loads() {
    return store->info() && *store->info() && store->load([](auto, auto, auto) {}).ok();
  }
  std::uint64_t at() { return (*store->info())->meta.index.value; }

  std::string file() const { return folder + "/state/checkpoint.mdb"; }
  /// Changes each place of the file that has that text.
  void damage(const std::string& path, const std::string& text) {
    auto bytes = harness::file_text(path);
    std::size_t hits = 0;
    for (auto at = bytes.find(text); at != std::string::npos; at = bytes.find(text, at + 1), ++hits)
      bytes[at] = static_cast<char>(bytes[at] ^ 1);
    REQUIRE(hits > 0);
    std::fstream f(path, std::ios::in | std::ios::out | std::ios::binary);
    f << bytes;
  }

  std::string folder;
  std::unique_ptr<lmdb_checkpoint> store;
  std::uint64_t index = 0;
  checkpoint_delta last;
  std::function<void()> before_proof;
};

row_change gone(std::string key) {
  return {1, std::move(key), nullptr};
}

} // namespace

TEST_CASE("a commit that reads back different leaves the checkpoint before it in force") {
  scratch_folder scratch;
  story s(scratch.path());
  s.must(s.commit({stored_row(1, "a", "first a"), stored_row(1, "b", "first b")}));
  s.must(s.commit({stored_row(1, "a", "second a"), gone("b"), stored_row(1, "c", "second c")}));
  const rows_by_key before = {{"a", "second a"}, {"c", "second c"}};

  const bool full = GENERATE(false, true);
  CAPTURE(full);
  s.before_proof = [&] { s.damage(full ? s.folder + "/state/new.mdb" : s.file(), "third a"); };
  const auto failed = s.commit({stored_row(1, "a", "third a"), stored_row(1, "d", "third d")}, full);
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.reason().kind == failure_kind::unproven);
  CHECK(failed.error().find("row of table kv (kv_entry), key a") != std::string::npos);
  CHECK(s.at() == 2);
  CHECK(s.rows() == before);

  s.before_proof = nullptr;
  SECTION("the next one is full, and counts") {
    s.must(s.commit({stored_row(1, "a", "fourth a")}, true));
    CHECK(s.rows() == rows_by_key{{"a", "fourth a"}});
  }
  SECTION("a restart finds the one before") {}
  s.open();
  CHECK(s.at() >= 2);
  CHECK(s.loads());
}

TEST_CASE("a row whose bytes differ from the row is named") {
  scratch_folder scratch;
  story s(scratch.path());
  s.must(s.commit({stored_row(1, "a", "first")}));
  const bool full = GENERATE(false, true), read_whole = GENERATE(false, true);
  CAPTURE(full, read_whole);
  // As with a codec that loses a member: the row in memory has another hash than its bytes.
  auto d = s.delta({stored_row(1, "b", "fine"), stored_row(3, "c", "lossy"), stored_row(1, "d", "fine")}, full);
  d.read_whole = read_whole;
  d.digest += 5;
  d.hash_of = [hash = d.hash_of](std::size_t i) { return hash(i) + (i == 1 ? 5 : 0); };
  const auto failed = s.store->commit(d);
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.reason().kind == failure_kind::unproven);
  CHECK(failed.error().find("row of table sessions (session_record), key c") != std::string::npos);
  CHECK(s.at() == 1);
  CHECK(s.rows() == rows_by_key{{"a", "first"}});
  // It fails every time, without a trace in the store.
  for (int i = 0; i < 3; ++i)
    CHECK_FALSE(s.store->commit(d).ok());
  CHECK(s.rows() == rows_by_key{{"a", "first"}});
}

TEST_CASE("a row to be removed, and one to be written, are looked up") {
  scratch_folder scratch;
  story s(scratch.path());
  s.must(s.commit({stored_row(1, "a", "first"), stored_row(1, "b", "first")}));
  const auto other = GENERATE(std::string("kept"), std::string("lost"));
  // The digest of a commit that does something else.
  auto d = s.delta(other == "kept" ? std::vector{gone("a"), gone("b")} : std::vector{stored_row(1, "c", "v")});
  if (other == "kept")
    d.rows.pop_back();
  else
    d.rows.front().append_value = nullptr;
  CHECK(s.store->commit(d).reason().kind == failure_kind::unproven);
  CHECK(s.rows() == rows_by_key{{"a", "first"}, {"b", "first"}});
}

TEST_CASE("damage that no commit touches is found by those that read the whole file") {
  scratch_folder scratch;
  story s(scratch.path());
  s.must(s.commit({stored_row(1, "a", "untouched"), stored_row(1, "b", "first")}));
  auto second = s.delta({stored_row(1, "b", "second")}), third = s.delta({stored_row(1, "b", "third")});
  s.damage(s.file(), "untouched");
  s.must(s.store->commit(second)); // verifies what it wrote
  third.read_whole = true;
  CHECK(s.store->commit(third).reason().kind == failure_kind::unproven);
  // No earlier row can be read, either; the state machine has all of them.
  s.must(s.store->commit(s.delta({stored_row(1, "a", "untouched"), stored_row(1, "b", "third")}, true)));
  CHECK(s.rows() == rows_by_key{{"a", "untouched"}, {"b", "third"}});
}

TEST_CASE("a start with a damaged newest checkpoint falls back to the commit before it, then to the older generation") {
  scratch_folder scratch;
  story s(scratch.path());
  s.must(s.commit({stored_row(1, "a", "one"), stored_row(1, "b", "shared by all")}));
  CHECK_FALSE(s.store->older_index());
  REQUIRE(s.store->keep_older().ok());
  CHECK(s.store->older_index() == log_index{1});
  s.must(s.commit({stored_row(1, "a", "two")}));
  s.must(s.commit({stored_row(1, "a", "three")}));
  s.store.reset();

  SECTION("a row of the newest commit") {
    s.damage(s.file(), "three");
    s.open();
    REQUIRE_FALSE(s.loads());
    const auto what = s.store->fall_back();
    REQUIRE((what.ok() && what->has_value()));
    CHECK(**what == "the commit before it, in state/checkpoint.mdb");
    CHECK(s.at() == 2);
    CHECK(s.rows().at("a") == "two");
  }
  SECTION("the older generation is newer than the commit before: the log does not reach back to that") {
    s.open();
    REQUIRE(s.store->keep_older().ok());
    s.store.reset();
    s.damage(s.file(), "three");
    s.open();
    const auto what = s.store->fall_back();
    REQUIRE((what.ok() && what->has_value()));
    CHECK((*what)->ends_with("older.snapshot"));
    CHECK(s.at() == 3);
    CHECK(s.rows().at("a") == "three");
  }
  SECTION("a row that both have") {
    s.damage(s.file(), "shared by all");
    s.open();
    REQUIRE_FALSE(s.loads());
    REQUIRE(s.store->fall_back()->has_value());
    REQUIRE_FALSE(s.loads());
    const auto what = s.store->fall_back();
    REQUIRE((what.ok() && what->has_value()));
    CHECK((*what)->ends_with("older.snapshot"));
    CHECK(s.at() == 1);
    CHECK(s.rows() == rows_by_key{{"a", "one"}, {"b", "shared by all"}});
  }
  SECTION("the whole file") {
    const auto how = GENERATE(0, 1, 2);
    CAPTURE(how);
    if (how == 0)
      fs::remove(s.file());
    else
      std::ofstream(s.file(), std::ios::binary | std::ios::trunc) << std::string(how == 1 ? 0 : 8192, 'x');
    s.open();
    REQUIRE_FALSE(s.loads());
    REQUIRE(s.store->fall_back()->has_value());
    CHECK(s.at() == 1);
    CHECK(s.rows().size() == 2);
  }
  SECTION("everything: nothing is changed") {
    s.damage(s.file(), "shared by all");
    s.damage(s.folder + "/state/older.snapshot", "shared by all");
    const auto before = harness::file_text(s.file());
    s.open();
    REQUIRE(s.store->fall_back()->has_value());
    REQUIRE_FALSE(s.loads());
    const auto what = s.store->fall_back();
    REQUIRE_FALSE(what.ok());
    CHECK(what.error().find("older.snapshot") != std::string::npos);
    CHECK_FALSE(s.store->info().ok());
    s.store.reset();
    CHECK(harness::file_text(s.file()) == before);
    return;
  }
  // From then on it is a checkpoint like any other.
  s.must(s.commit({stored_row(1, "z", "next")}));
  s.open();
  CHECK(s.rows().contains("z"));
}

TEST_CASE("the older generation is a whole one, whenever the process ends") {
  scratch_folder scratch;
  story s(scratch.path());
  s.must(s.commit({stored_row(1, "a", "one")}));
  REQUIRE(s.store->keep_older().ok());
  s.must(s.commit({stored_row(1, "a", "two")}));
  SECTION("killed while the next one is written") {
    std::ofstream(s.folder + "/state/older.new") << "half of it";
    s.open();
    CHECK_FALSE(fs::exists(s.folder + "/state/older.new"));
    CHECK(s.store->older_index() == log_index{1});
  }
  SECTION("replaced") {
    REQUIRE(s.store->keep_older().ok());
    s.open();
    CHECK(s.store->older_index() == log_index{2});
  }
  SECTION("not readable: it counts as none") {
    std::ofstream(s.folder + "/state/older.snapshot", std::ios::trunc) << "nothing";
    s.open();
    CHECK_FALSE(s.store->older_index());
  }
}

TEST_CASE("a snapshot from the leader replaces both generations: the log before it is removed") {
  scratch_folder here, there;
  story from(here.path()), to(there.path());
  from.must(from.commit({stored_row(1, "a", "one")}));
  to.must(to.commit({stored_row(1, "old", "one")}));
  REQUIRE(to.store->keep_older().ok());
  const auto chunk = from.store->read_snapshot(log_index{}, 0, 1 << 20);
  REQUIRE((chunk.ok() && chunk->last));
  auto meta = chunk->meta;
  REQUIRE(to.store->write_snapshot(meta, 0, *chunk->bytes, true).ok());
  CHECK(to.store->older_index() == meta.index);
  to.store.reset();
  fs::remove(to.file());
  to.open();
  REQUIRE(to.store->fall_back()->has_value());
  CHECK(to.rows() == rows_by_key{{"a", "one"}});
}

// Followers and archives get a file that a server made. A bit that changes on its way to the disk
// is found before the first byte is sent.
TEST_CASE("a checkpoint that is damaged does not travel") {
  scratch_folder scratch;
  story s(scratch.path());
  s.must(s.commit({stored_row(1, "a", "untouched"), stored_row(1, "b", "first")}));
  s.damage(s.file(), "untouched");
  CHECK_FALSE(s.store->read_snapshot(log_index{}, 0, 100).ok());
  CHECK_FALSE(s.store->keep_older().ok());
}

TEST_CASE("the commit before the newest one can be put in force, and back, in each file that LMDB makes") {
  scratch_folder scratch;
  const auto path = scratch / "x.mdb";
  auto& files = storage::posix_file_system();
  const auto value = [&] {
    auto env = storage::lmdb_env::open(path, storage::lmdb_use::live, 1 << 20);
    REQUIRE(env.ok());
    storage::lmdb_transaction txn;
    REQUIRE(txn.begin(**env, false) == 0);
    std::string_view v;
    return txn.get("k", v) == 0 ? std::string(v) : std::string("none");
  };
  const auto put = [&](const std::string& v) {
    auto env = storage::lmdb_env::open(path, storage::lmdb_use::live, 1 << 20);
    REQUIRE(env.ok());
    storage::lmdb_transaction txn;
    REQUIRE(txn.begin(**env, true) == 0);
    char* buffer = nullptr;
    REQUIRE(txn.reserve("k", v.size(), 0, buffer) == 0);
    v.copy(buffer, v.size());
    REQUIRE(txn.commit() == 0);
  };
  std::string before = "none";
  for (int i = 0; i < 6; ++i) { // both metas are the newer one in turn
    const auto now = "value " + std::to_string(i);
    put(now);
    auto f = files.open(path, storage::open_mode::existing);
    REQUIRE(f.ok());
    const auto replaced = storage::revert_newest_commit(**f);
    REQUIRE((replaced.ok() && replaced->has_value()));
    CHECK(value() == before);
    CHECK(storage::revert_newest_commit(**f)->has_value() == false); // once
    REQUIRE(storage::undo_revert(**f, **replaced).ok());
    CHECK(value() == now);
    before = now;
  }
  std::ofstream(scratch / "other") << std::string(10000, 'x');
  auto other = files.open(scratch / "other", storage::open_mode::existing);
  CHECK(storage::revert_newest_commit(**other)->has_value() == false);
}

} // namespace belay::tests::proven
