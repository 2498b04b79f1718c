// Checkpoints in LMDB, and the snapshots that servers send to each other.

#include "protocol/base/random.hpp"
#include "storage/checkpoint/lmdb_checkpoint.hpp"
#include "tests/harness/scratch.hpp"
#include "tests/storage/stored_row.hpp"

#include <catch2/catch.hpp>

#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <unordered_map>

namespace belay::tests {

namespace fs = std::filesystem;
using storage::checkpoint_delta;
using storage::lmdb_checkpoint;
using storage::lmdb_failure;

namespace {

using rows_by_key = std::map<std::pair<std::uint8_t, std::string>, std::string>;

using harness::scratch_folder;

raft::snapshot_meta meta_at(std::uint64_t index) {
  raft::snapshot_meta m;
  m.index = log_index{index};
  m.term = term_id{index / 10 + 1};
  m.time = cluster_time{index * 1000};
  m.config.members = {{node_id{1}, "u1", "n1", "127.0.0.1:1"}, {node_id{2}, "u2", "n2", "127.0.0.1:2"}};
  m.config.voters = {node_id{1}, node_id{2}};
  return m;
}

checkpoint_delta delta_at(std::uint64_t index, bool full = false) {
  return {meta_at(index), 0, full, {}};
}

void put(checkpoint_delta& d, std::uint8_t table, std::string key, std::string value) {
  d.rows.push_back(storage::stored_row(table, std::move(key), std::move(value)));
}

void apply_to(rows_by_key& rows, const checkpoint_delta& d) {
  if (d.full)
    rows.clear();
  for (const auto& r : d.rows)
    if (r.append_value) {
      std::string value;
      r.append_value(value);
      rows[{r.table, r.key}] = value;
    } else {
      rows.erase({r.table, r.key});
    }
}

std::unique_ptr<lmdb_checkpoint> open_store(const std::string& path, storage::lmdb_checkpoint_options o = {}) {
  auto s = lmdb_checkpoint::open(path, storage::of_bytes(o));
  if (!s)
    FAIL(s.error());
  return std::move(s).value();
}

/// Also checks the order of the rows.
rows_by_key load(lmdb_checkpoint& store) {
  rows_by_key rows;
  std::size_t out_of_order = 0;
  const auto s = store.load([&](std::uint8_t table, std::string_view key, std::string_view value) {
    std::pair<std::uint8_t, std::string> k{table, key};
    out_of_order += !rows.empty() && !(rows.rbegin()->first < k);
    rows.emplace_hint(rows.end(), std::move(k), value);
  });
  if (!s)
    FAIL(s.error());
  CHECK(out_of_order == 0);
  return rows;
}

void must(const status& s) {
  if (!s)
    FAIL(s.error());
}

status commit(lmdb_checkpoint& store, const checkpoint_delta& d) {
  return store.commit(storage::with_digest(store, d));
}

std::uint64_t digest_of(const rows_by_key& rows) {
  std::uint64_t sum = 0;
  for (const auto& [key, value] : rows)
    sum += *storage::hash_of_bytes(key.first, key.second, value);
  return sum;
}

std::uint64_t index_of(lmdb_checkpoint& store) {
  auto i = store.info();
  REQUIRE(i.ok());
  return *i ? (*i)->meta.index.value : 0;
}

checkpoint_delta varied(std::uint64_t index, std::size_t rows, seeded_random& random, bool full = false) {
  auto d = delta_at(index, full);
  for (std::size_t i = 0; i < rows; ++i) {
    auto key = "key/" + std::to_string(random.below(rows * 2));
    if (random.below(200) == 0)
      key += std::string(500 + random.below(3000), 'k');
    std::erase_if(d.rows, [&](const auto& r) { return rows < 100 && r.key == key; });
    put(d, static_cast<std::uint8_t>(random.below(4)), key,
        std::string(random.below(400), static_cast<char>(random.next())));
  }
  return d;
}

/// All chunks of the newest snapshot, joined.
std::string snapshot_of(lmdb_checkpoint& store, raft::snapshot_meta& meta, std::size_t chunk_bytes = 512 << 10) {
  std::string all;
  for (log_index index;;) {
    auto c = store.read_snapshot(index, all.size(), chunk_bytes);
    if (!c)
      FAIL(c.error());
    index = c->meta.index;
    meta = c->meta;
    all += *c->bytes;
    if (c->last)
      return all;
  }
}

result<std::uint64_t> install(lmdb_checkpoint& store, const raft::snapshot_meta& meta, const std::string& all,
                              std::size_t chunk_bytes = 512 << 10) {
  for (std::size_t at = 0;;) {
    const auto n = std::min(chunk_bytes, all.size() - at);
    auto stored = store.write_snapshot(meta, at, std::string_view(all).substr(at, n), at + n == all.size());
    if (!stored || at + n == all.size())
      return stored;
    CHECK(*stored == at + n);
    at += n;
  }
}

} // namespace

TEST_CASE("committed rows are loaded after a restart") {
  scratch_folder scratch;
  rows_by_key expected;
  {
    auto store = open_store(scratch.path());
    CHECK(index_of(*store) == 0);
    CHECK(load(*store).empty());
    auto d = delta_at(10);
    put(d, 3, "z", "last");
    put(d, 0, "", "empty key");
    put(d, 0, "a", "");
    put(d, 0, std::string("a\0b", 3), std::string(100000, '\0'));
    must(commit(*store, d));
    apply_to(expected, d);
    d = delta_at(20);
    put(d, 0, "a", "changed");
    d.rows.push_back({3, "z", nullptr});
    d.rows.push_back({3, "never there", nullptr});
    must(commit(*store, d));
    apply_to(expected, d);
  }
  auto store = open_store(scratch.path());
  const auto info = store->info();
  REQUIRE(info.ok());
  REQUIRE(info.value().has_value());
  CHECK(info.value()->meta == meta_at(20));
  CHECK(info.value()->digest == digest_of(expected));
  CHECK(load(*store) == expected);
}

TEST_CASE("a data directory is opened once") {
  scratch_folder scratch;
  auto first = open_store(scratch.path());
  const auto second = lmdb_checkpoint::open(scratch.path());
  REQUIRE_FALSE(second.ok());
  CHECK(second.error().find("in use by another process") != std::string::npos);
}

TEST_CASE("keys longer than LMDB allows keep their order and can be changed and removed") {
  scratch_folder scratch;
  auto store = open_store(scratch.path());
  rows_by_key expected;
  auto d = delta_at(1);
  for (std::size_t n : {508, 509, 510, 511, 512, 4000, 1 << 20})
    for (char c : {'a', 'm', 'z'})
      put(d, static_cast<std::uint8_t>(n % 3), std::string(n, c), "v" + std::to_string(n) + c);
  put(d, 1, "b", "short, between long ones");
  must(commit(*store, d));
  apply_to(expected, d);
  CHECK(load(*store) == expected);
  d = delta_at(2);
  put(d, 4000 % 3, std::string(4000, 'm'), "changed");
  d.rows.push_back({static_cast<std::uint8_t>((1 << 20) % 3), std::string(1 << 20, 'a'), nullptr});
  d.rows.push_back({0, std::string(600, 'x'), nullptr});
  must(commit(*store, d));
  apply_to(expected, d);
  CHECK(load(*store) == expected);
  // The same rows as a whole new file.
  d = delta_at(3, true);
  for (const auto& [key, value] : expected)
    put(d, key.first, key.second, value);
  must(commit(*store, d));
  CHECK(load(*store) == expected);
}

TEST_CASE("long keys with the same checksum are different rows") {
  // Random prefixes: CRC32C has no collisions of short runs; 2^32 values need about 2^16 draws.
  const auto long_key = [](std::uint64_t v) {
    std::string key;
    byte_writer(key).u64(v);
    return key + std::string(600, 'k');
  };
  seeded_random random(8);
  std::unordered_map<std::uint32_t, std::uint64_t> seen;
  std::string one, other;
  while (other.empty()) {
    const auto v = random.next();
    const auto [at, fresh] = seen.emplace(crc32c(long_key(v)), v);
    if (!fresh) {
      one = long_key(at->second);
      other = long_key(v);
    }
  }
  REQUIRE(crc32c(one) == crc32c(other));
  scratch_folder scratch;
  auto store = open_store(scratch.path());
  rows_by_key expected;
  const auto step = [&](checkpoint_delta d) {
    must(commit(*store, d));
    apply_to(expected, d);
    CHECK(load(*store) == expected);
  };
  auto both = delta_at(1, GENERATE(false, true));
  put(both, 1, other, "other");
  put(both, 1, one, "one");
  step(both);
  auto removed = delta_at(2);
  removed.rows.push_back({1, expected.begin()->first.second, nullptr});
  step(removed);
  auto again = delta_at(3);
  put(again, 1, one, "one again");
  put(again, 1, other, "other again");
  step(again);
  CHECK(expected.size() == 2);
}

TEST_CASE("a full commit replaces everything") {
  scratch_folder scratch;
  seeded_random random(1);
  auto store = open_store(scratch.path());
  must(commit(*store, varied(5, 2000, random)));
  auto d = varied(6, 1500, random, true);
  put(d, 1, "twice", "first");
  put(d, 1, "twice", "second");
  d.rows.push_back({1, "not there", nullptr});
  rows_by_key expected;
  apply_to(expected, d);
  must(commit(*store, d));
  CHECK(load(*store) == expected);
  CHECK(expected.at({1, "twice"}) == "second");
  store.reset();
  store = open_store(scratch.path());
  CHECK(load(*store) == expected);
  CHECK(index_of(*store) == 6);
}

TEST_CASE("the map grows from a tiny one") {
  scratch_folder scratch;
  seeded_random random(2);
  storage::lmdb_checkpoint_options o;
  o.map_bytes = 1 << 20;
  rows_by_key expected;
  auto store = open_store(scratch.path(), o);
  for (std::uint64_t i = 1; i <= 12; ++i) {
    const auto d = varied(i, i * 700, random, i == 9);
    must(commit(*store, d));
    apply_to(expected, d);
  }
  CHECK(store->map_bytes() > 4 << 20);
  CHECK(load(*store) == expected);
  store.reset();
  store = open_store(scratch.path(), o);
  CHECK(load(*store) == expected);
}

TEST_CASE("a large commit leaks no memory, and the store continues") {
  scratch_folder scratch;
  auto store = open_store(scratch.path());
  const auto in_use = [] { return mallinfo2().uordblks; }; // 0 with sanitizers
  rows_by_key expected;
  for (const std::uint64_t index : {1, 2, 3}) {
    auto d = delta_at(index);
    for (int i = 0; i < (index == 3 ? 1 : 20'000); ++i)
      put(d, 1, "key " + std::to_string(i), std::string(1'000, static_cast<char>('a' + index)));
    const auto before = in_use();
    must(commit(*store, d));
    CHECK(in_use() < before + (2u << 20)); // the pages of a large one are 25 MB
    apply_to(expected, d);
  }
  CHECK(load(*store) == expected);
}

TEST_CASE("at the limit of the map commits are refused and the old checkpoint stays") {
  scratch_folder scratch;
  storage::lmdb_checkpoint_options o;
  o.map_bytes = 1 << 20;
  o.map_bytes_max = 3 << 20;
  auto store = open_store(scratch.path(), o);
  auto d = delta_at(1);
  put(d, 1, "k", std::string(1 << 20, 'v'));
  must(commit(*store, d));
  rows_by_key expected;
  apply_to(expected, d);
  const bool full = GENERATE(false, true);
  auto large = delta_at(2, full);
  for (int i = 0; i < 50; ++i)
    put(large, 1, "large" + std::to_string(i), std::string(100000, 'v'));
  const auto s = commit(*store, large);
  REQUIRE_FALSE(s.ok());
  CHECK(s.reason().kind == failure_kind::no_space);
  CHECK(load(*store) == expected);
  CHECK(index_of(*store) == 1);
  d = delta_at(3);
  put(d, 2, "small", "fits");
  must(commit(*store, d));
  apply_to(expected, d);
  CHECK(load(*store) == expected);
}

namespace {

/// While it lives, no file of this process can become larger.
class file_size_limit {
public:
  explicit file_size_limit(std::uint64_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before_) == 0);
    rlimit tight = before_;
    tight.rlim_cur = bytes;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &tight) == 0);
  }
  ~file_size_limit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

private:
  void (*handler_)(int);
  rlimit before_{};
};

} // namespace

TEST_CASE("when the disk is full, commits are rejected and the old checkpoint stays") {
  // A limit on the size of a file simulates a full disk: LMDB's writes fail halfway through.
  scratch_folder scratch;
  seeded_random random(3);
  auto store = open_store(scratch.path());
  rows_by_key expected;
  const auto first = varied(1, 3000, random);
  must(commit(*store, first));
  apply_to(expected, first);
  const auto large = varied(2, 20000, random, GENERATE(false, true));
  {
    // One limit is not a multiple of a page, so LMDB's write is cut short; the other one is, so it
    // fails at once.
    const auto used = fs::file_size(scratch / "state/checkpoint.mdb");
    file_size_limit limit(used + GENERATE(1000, 8192));
    const auto refused = commit(*store, large);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.reason().kind == failure_kind::no_space);
    CHECK(load(*store) == expected);
  }
  CHECK_FALSE(fs::exists(scratch / "state/new.mdb"));
  must(commit(*store, large));
  apply_to(expected, large);
  CHECK(load(*store) == expected);
  store.reset();
  store = open_store(scratch.path());
  CHECK(load(*store) == expected);
}

TEST_CASE("a snapshot of 100,000 rows travels to another server") {
  scratch_folder here, there;
  seeded_random random(4);
  auto from = open_store(here.path());
  must(commit(*from, varied(100, 100000, random)));
  const auto expected = load(*from);
  REQUIRE(expected.size() > 70000);
  raft::snapshot_meta meta;
  const auto all = snapshot_of(*from, meta);
  CHECK(meta == meta_at(100));

  auto to = open_store(there.path());
  auto old = delta_at(7);
  put(old, 1, "of another time", "v");
  must(commit(*to, old));
  const auto stored = install(*to, meta, all);
  if (!stored)
    FAIL(stored.error());
  CHECK(*stored == all.size());
  CHECK(load(*to) == expected);
  CHECK(to->info().value()->digest == digest_of(expected));
  // It is an ordinary checkpoint from now on.
  auto d = delta_at(101);
  put(d, 9, "next", "v");
  must(commit(*to, d));
  to.reset();
  to = open_store(there.path());
  CHECK(load(*to).size() == expected.size() + 1);
  CHECK_FALSE(fs::exists(there / "snapshots/incoming"));
}

TEST_CASE("a follower continues with the snapshot it started, while new checkpoints are committed") {
  scratch_folder here, there;
  seeded_random random(5);
  auto from = open_store(here.path());
  must(commit(*from, varied(1, 3000, random)));
  const auto expected = load(*from);
  auto to = open_store(there.path());
  std::uint64_t offset = 0;
  log_index index;
  for (bool last = false; !last;) {
    auto c = from->read_snapshot(index, offset, 100000);
    if (!c)
      FAIL(c.error());
    index = c->meta.index;
    last = c->last;
    auto stored = to->write_snapshot(c->meta, offset, *c->bytes, last);
    if (!stored)
      FAIL(stored.error());
    offset = *stored;
    if (offset <= 100000) { // another follower requests a newer one meanwhile
      must(commit(*from, varied(2, 100, random)));
      CHECK(from->read_snapshot(log_index{}, 0, 10)->meta.index == log_index{2});
    }
  }
  CHECK(load(*to) == expected);
  CHECK(index_of(*to) == 1);
  // Two are kept; the third one replaces the one that was not read for longest.
  must(commit(*from, varied(3, 100, random)));
  REQUIRE(from->read_snapshot(log_index{}, 0, 10).ok());
  CHECK(from->read_snapshot(log_index{1}, 0, 10).ok());
  CHECK(from->read_snapshot(log_index{2}, 0, 10).error().find("no longer exists") != std::string::npos);
  CHECK_FALSE(from->read_snapshot(log_index{3}, 1 << 30, 10).ok());
}

// Archives are saved more often than a follower with a slow connection receives a snapshot. It
// began anew each time that two of them had replaced its own, and never caught up.
TEST_CASE("a snapshot that is being read is not replaced by those of archives") {
  scratch_folder scratch;
  seeded_random random(9);
  auto store = open_store(scratch.path());
  must(commit(*store, varied(1, 500, random)));
  REQUIRE(store->read_snapshot(log_index{}, 0, 100).ok());
  for (std::uint64_t archive = 2; archive < 8; ++archive) {
    must(commit(*store, varied(archive, 50, random)));
    REQUIRE(store->read_snapshot(log_index{}, 0, 100)->meta.index == log_index{archive});
    REQUIRE(store->read_snapshot(log_index{1}, archive * 100, 100).ok());
  }
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& one : fs::directory_iterator(scratch / "snapshots"))
    ++files;
  CHECK(files == 2);
}

TEST_CASE("the same checkpoint is frozen once, an empty one never") {
  scratch_folder scratch;
  auto store = open_store(scratch.path());
  CHECK_FALSE(store->read_snapshot(log_index{}, 0, 100).ok());
  must(commit(*store, delta_at(5)));
  REQUIRE(store->read_snapshot(log_index{}, 0, 100).ok());
  const auto file = scratch / "snapshots/0000000000000005.snapshot";
  const auto made = fs::last_write_time(file);
  REQUIRE(store->read_snapshot(log_index{}, 10, 100).ok());
  CHECK(fs::last_write_time(file) == made);
}

TEST_CASE("a damaged snapshot is refused and the old checkpoint stays") {
  scratch_folder here, there;
  seeded_random random(6);
  auto from = open_store(here.path());
  must(commit(*from, varied(50, 1500, random)));
  raft::snapshot_meta meta;
  const auto all = snapshot_of(*from, meta, 10000);
  auto to = open_store(there.path());
  auto d = delta_at(7);
  put(d, 1, "old", "v");
  must(commit(*to, d));
  const auto refused = [&](std::string bytes, raft::snapshot_meta m) {
    const auto stored = install(*to, m, bytes, 50000);
    REQUIRE_FALSE(stored.ok());
    CHECK(index_of(*to) == 7);
    CHECK(load(*to).size() == 1);
    CHECK_FALSE(fs::exists(there / "state/new.mdb"));
  };
  for (int i = 0; i < 60; ++i) {
    auto bytes = all;
    const auto at = i < 20 ? random.below(200) : i < 40 ? all.size() - 1 - random.below(40) : random.below(all.size());
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
    INFO("bit at " << at << " of " << all.size());
    refused(bytes, meta);
  }
  for (int i = 0; i < 10; ++i)
    refused(all.substr(0, 1 + random.below(all.size() - 1)), meta);
  refused(all + "x", meta);
  refused(all, meta_at(51));
  const auto good = install(*to, meta, all);
  CHECK(good.ok());
  CHECK(load(*to) == load(*from));
}

TEST_CASE("chunks must continue each other") {
  scratch_folder scratch;
  auto store = open_store(scratch.path());
  CHECK_FALSE(store->write_snapshot(meta_at(5), 10, "x", false).ok());
  CHECK(*store->write_snapshot(meta_at(5), 0, "0123456789", false) == 10);
  CHECK_FALSE(store->write_snapshot(meta_at(5), 9, "x", false).ok());
  CHECK_FALSE(store->write_snapshot(meta_at(6), 10, "x", false).ok());
  CHECK(*store->write_snapshot(meta_at(5), 10, "x", false) == 11);
  CHECK(*store->write_snapshot(meta_at(6), 0, "y", false) == 1); // started over
}

TEST_CASE("unfinished files of a crash are removed") {
  scratch_folder scratch;
  auto store = open_store(scratch.path());
  auto d = delta_at(5);
  put(d, 1, "k", "v");
  must(commit(*store, d));
  REQUIRE(store->read_snapshot(log_index{}, 0, 100).ok());
  REQUIRE(store->write_snapshot(meta_at(9), 0, "begun", false).ok());
  store.reset();
  std::ofstream(scratch / "state/new.mdb") << "half a file";
  store = open_store(scratch.path());
  CHECK(load(*store).size() == 1);
  CHECK(fs::is_empty(scratch / "snapshots"));
  CHECK_FALSE(fs::exists(scratch / "state/new.mdb"));
  CHECK_FALSE(store->write_snapshot(meta_at(9), 5, "more", false).ok());
}

TEST_CASE("changed bytes in the checkpoint are damage") {
  scratch_folder scratch;
  const auto file = scratch / "state/checkpoint.mdb";
  auto store = open_store(scratch.path());
  auto d = delta_at(5);
  put(d, 1, "the-key", "the-value");
  put(d, 1, std::string(600, 'K'), "long-value");
  must(commit(*store, d));
  store.reset();
  std::stringstream bytes;
  bytes << std::ifstream(file, std::ios::binary).rdbuf();
  for (const auto* what : {"the-key", "the-value", "KKKK", "long-value", "127.0.0.1:1"}) {
    auto changed = bytes.str();
    std::size_t hits = 0;
    for (std::size_t at = changed.find(what); at != std::string::npos; at = changed.find(what, at + 1), ++hits)
      changed[at] = static_cast<char>(changed[at] ^ 1);
    REQUIRE(hits > 0);
    std::ofstream(file, std::ios::binary | std::ios::trunc) << changed;
    INFO(what);
    auto damaged = open_store(scratch.path());
    const auto s = damaged->load([](auto, auto, auto) {});
    REQUIRE_FALSE(s.ok());
    CHECK(s.error().find("checkpoint is damaged") != std::string::npos);
    CHECK(s.error().find("move the whole data directory away") != std::string::npos);
  }
  std::ofstream(file, std::ios::binary | std::ios::trunc) << std::string(8192, 'x');
  // The store opens all the same, because an older checkpoint may be readable
  // (proven_checkpoint_test.cpp).
  auto unreadable = open_store(scratch.path());
  const auto info = unreadable->info();
  REQUIRE_FALSE(info.ok());
  CHECK(info.error().find(file) != std::string::npos);
  CHECK_FALSE(unreadable->load([](auto, auto, auto) {}).ok());
}

/// Another thread checks checksums ahead of the reader, which must not overtake it.
TEST_CASE("a changed byte among many rows is found before the caller gets its row") {
  scratch_folder scratch;
  const auto file = scratch / "state/checkpoint.mdb";
  auto store = open_store(scratch.path());
  constexpr int rows = 2000;
  auto d = delta_at(5, true);
  const auto text_of = [](int i) { return "value " + std::to_string(10000 + i) + "."; };
  for (int i = 0; i < rows; ++i)
    put(d, 1, "key " + std::to_string(10000 + i), text_of(i));
  must(commit(*store, d));
  CHECK(load(*store).size() == rows);
  store.reset();
  std::stringstream stored;
  stored << std::ifstream(file, std::ios::binary).rdbuf();
  for (const int bad : {0, 1, 255, 256, 257, 1023, 1999}) {
    auto changed = stored.str();
    const auto at = changed.find(text_of(bad));
    REQUIRE(at != std::string::npos);
    changed[at] = static_cast<char>(changed[at] ^ 1);
    std::ofstream(file, std::ios::binary | std::ios::trunc) << changed;
    INFO(bad);
    int given = 0, wrong = 0;
    const auto s = open_store(scratch.path())->load([&](auto, auto, std::string_view value) {
      wrong += value != text_of(given++);
    });
    REQUIRE_FALSE(s.ok());
    CHECK(s.error().find("row " + std::to_string(bad) + " has a wrong checksum") != std::string::npos);
    CHECK(given == bad);
    CHECK(wrong == 0);
  }
}

TEST_CASE("errors of the system about a checkpoint are not reported as damage") {
  for (const int code : {EACCES, EROFS, EIO, ENOMEM, ENOSPC, EMFILE}) {
    const auto response = lmdb_failure("cannot open", "/data/state/checkpoint.mdb", code).text;
    CHECK(response.find(std::strerror(code)) != std::string::npos);
    CHECK(response.find("data directory") == std::string::npos);
  }
  CHECK(lmdb_failure("cannot read", "x", MDB_CORRUPTED).text.find("data directory") != std::string::npos);
}

TEST_CASE("a process killed at any moment leaves a whole checkpoint, not older than the last one reported") {
  // Situation: commits, whole replacements and snapshot installs in turn. Event: SIGKILL after a
  // varying number of them.
  scratch_folder scratch;
  const auto rows_at = [](std::uint64_t i) {
    auto d = delta_at(i, true);
    for (std::uint64_t k = 0; k < 300; ++k)
      put(d, 1, "k" + std::to_string(k), std::to_string(i));
    return d;
  };
  std::uint64_t begin = 1;
  for (int round = 0; round < 12; ++round) {
    int pipe_ends[2];
    REQUIRE(pipe(pipe_ends) == 0);
    const auto child = fork();
    if (child == 0) {
      auto opened = lmdb_checkpoint::open(scratch.path(), storage::of_bytes());
      if (!opened)
        _exit(1);
      auto& store = **opened;
      for (std::uint64_t i = begin;; ++i) {
        auto d = rows_at(i);
        d.full = i % 3 == 0;
        if (!commit(store, d))
          _exit(2);
        if (i % 3 == 2) {
          auto c = store.read_snapshot(log_index{}, 0, 1 << 20);
          if (!c || !store.write_snapshot(c->meta, 0, *c->bytes, true))
            _exit(3);
        }
        if (write(pipe_ends[1], &i, sizeof i) != sizeof i)
          _exit(4);
      }
    }
    REQUIRE(child > 0);
    close(pipe_ends[1]);
    std::uint64_t reported = 0;
    for (int n = 0; n < 2 + round; ++n)
      REQUIRE(read(pipe_ends[0], &reported, sizeof reported) == sizeof reported);
    REQUIRE(kill(child, SIGKILL) == 0);
    int ended = 0;
    REQUIRE(waitpid(child, &ended, 0) == child);
    CHECK(WIFSIGNALED(ended));
    while (read(pipe_ends[0], &reported, sizeof reported) == sizeof reported)
      ;
    close(pipe_ends[0]);
    auto store = open_store(scratch.path());
    const auto index = index_of(*store);
    CHECK(index >= reported);
    CHECK(index <= reported + 1);
    rows_by_key expected;
    apply_to(expected, rows_at(index));
    CHECK(load(*store) == expected);
    begin = index + 1;
  }
}

namespace {

/// Rejects at a row, or at the end.
struct strict_validator final : storage::snapshot_validator {
  std::size_t refuse_at = SIZE_MAX;
  std::size_t seen = 0;
  bool ended = false;

  status row(std::uint8_t, std::string_view, std::string_view) override {
    return seen++ == refuse_at ? status(failure{"not this row"}) : status(done{});
  }
  status whole(const storage::checkpoint_info& info) override {
    ended = true;
    return refuse_at == seen || info.meta.index.is_zero() ? status(failure{"not this whole"}) : status(done{});
  }
};

} // namespace

TEST_CASE("a snapshot that is rejected leaves the old checkpoint in place") {
  scratch_folder here, there;
  seeded_random random(7);
  auto from = open_store(here.path());
  must(commit(*from, varied(50, 300, random)));
  raft::snapshot_meta meta;
  const auto all = snapshot_of(*from, meta, 1u << 20);
  const auto rows = load(*from).size();
  auto to = open_store(there.path());
  auto d = delta_at(7);
  put(d, 1, "old", "v");
  must(commit(*to, d));
  for (const std::size_t at : {std::size_t{0}, rows / 2, rows - 1, rows}) {
    strict_validator validator;
    validator.refuse_at = at;
    const auto stored = to->write_snapshot(meta, 0, all, true, &validator);
    REQUIRE_FALSE(stored.ok());
    CHECK(stored.error() == (at == rows ? "not this whole" : "not this row"));
    CHECK(index_of(*to) == 7);
    CHECK(load(*to).size() == 1);
    CHECK_FALSE(fs::exists(there / "state/new.mdb"));
  }
  strict_validator validator;
  REQUIRE(to->write_snapshot(meta, 0, all, true, &validator).ok());
  CHECK(validator.ended);
  CHECK(validator.seen == rows);
  CHECK(load(*to) == load(*from));
}

} // namespace belay::tests
