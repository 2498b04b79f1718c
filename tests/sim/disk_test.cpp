// The simulator's disks: what they keep, what they lose, and that the stores on them notice.

#include "actors/tables/checkpointer.hpp"
#include "protocol/state/row_hash.hpp"
#include "sim/disks/simulated_disk.hpp"
#include "storage/log/segment_log.hpp"
#include "tests/storage/log_story.hpp"
#include "tests/storage/stored_row.hpp"

#include <catch2/catch.hpp>

#include <iostream>

namespace belay::sim {

namespace {

using storage::segment_log;
using tests::batch_of;
using tests::expected_log;
using tests::make_entry;

constexpr stream disk0{stream_kind::disk, 0};

std::unique_ptr<segment_log> open_log(simulated_files& files) {
  storage::segment_log_options o;
  o.segment_bytes = 8192;
  o.fill_bytes = 1024;
  o.seed = 11;
  auto log = segment_log::open(files, "raft", o);
  REQUIRE(log.ok());
  return std::move(log).value();
}

void must(const status& s) {
  if (!s)
    FAIL(s.error());
}

/// The log on a simulated disk, and what its owner has written to it.
struct owned_log {
  explicit owned_log(std::size_t segment_bytes = 8192) : disk(segment_bytes) { start(); }

  void start() {
    auto log = disk.open_log();
    REQUIRE(log.ok());
    auto found = (*log)->load();
    if (!found)
      FAIL(found.error());
    const auto difference = known.difference(*found);
    const bool got_through = in_flight && in_flight->difference(*found).empty();
    if (!difference.empty() && !got_through)
      FAIL("neither as acknowledged (" << difference << ") nor as under way");
    const bool either = difference.empty() && got_through && known.next_index != in_flight->next_index;
    if (got_through)
      known = *in_flight;
    in_flight.reset();
    if (either) { // a restart without entries does not show which
      raft::persist_batch again;
      again.restart_after.emplace().index = log_index{known.next_index};
      REQUIRE(append({again}));
    }
  }

  /// @returns whether it was acknowledged
  bool append(const std::vector<raft::persist_batch>& batches) {
    auto next = known;
    for (const auto& b : batches)
      next.apply(b);
    const auto s = disk.log()->append(batches);
    if (s) {
      known = std::move(next);
    } else if (s.reason().kind != failure_kind::no_space) {
      in_flight = std::move(next);
    }
    return s.ok();
  }

  void compact(seeded_random& random) {
    known.first_kept += random.below(known.next_index - known.first_kept);
    must(disk.log()->compact(log_index{known.first_kept}));
  }

  void step(seeded_random& random) {
    if (random.below(10) == 0 && known.next_index > known.first_kept)
      compact(random);
    else
      REQUIRE(append(tests::draw_batches(known, random)));
  }

  simulated_disk disk;
  expected_log known;
  std::optional<expected_log> in_flight; ///< an append that failed
};

storage::checkpoint_delta delta_of(std::uint64_t index, std::vector<storage::row_change> rows, bool full = false) {
  storage::checkpoint_delta d;
  d.meta.index = log_index{index};
  d.meta.term = term_id{1};
  d.full = full;
  d.rows = std::move(rows);
  return d;
}

storage::row_change row_of(std::string key, std::string value) {
  return storage::stored_row(3, std::move(key), std::move(value));
}

status commit(simulated_checkpoints& store, const storage::checkpoint_delta& d) {
  return store.commit(storage::with_digest(store, d));
}

std::map<std::string, std::string> rows_of(simulated_checkpoints& store) {
  std::map<std::string, std::string> rows;
  must(store.load([&](std::uint8_t, std::string_view key, std::string_view value) { rows.emplace(key, value); }));
  return rows;
}

std::uint64_t index_of(simulated_checkpoints& store) {
  auto i = store.info();
  REQUIRE(i.ok());
  return *i ? (*i)->meta.index.value : 0;
}

/// Sends the newest snapshot of one store to the other in small chunks. @returns the first error
status transfer(simulated_checkpoints& from, simulated_checkpoints& to, std::size_t chunks_most = SIZE_MAX) {
  std::uint64_t offset = 0;
  log_index index;
  for (std::size_t n = 0; n < chunks_most; ++n) {
    auto c = from.read_snapshot(index, offset, 100);
    if (!c)
      return c.reason();
    index = c->meta.index;
    auto stored = to.write_snapshot(c->meta, offset, *c->bytes, c->last);
    if (!stored)
      return stored.reason();
    offset = *stored;
    if (c->last)
      break;
  }
  return done{};
}

} // namespace

// ---- files

TEST_CASE("files: synced data survives; unsynced data is lost, kept, cut or partly there", "[sim][disk]") {
  simulated_files files;
  auto f = files.open("d/f", storage::open_mode::fresh);
  REQUIRE(f.ok());
  must((*f)->write_at(0, {"synced"}));
  must((*f)->sync());
  must(files.sync_directory("d"));
  must((*f)->write_at(3, {"NEW", "ER"}));
  CHECK(*files.contents("d/f") == "synNEWER");

  SECTION("a killed process loses nothing, but what it did not sync still is not") {
    files.kill();
    CHECK(*files.contents("d/f") == "synNEWER");
    CHECK_FALSE((*f)->sync().ok()); // no longer usable
    files.lose_power(nothing_survives());
    CHECK(*files.contents("d/f") == "synced");
  }
  SECTION("all of it") {
    files.lose_power(all_survives());
    CHECK(*files.contents("d/f") == "synNEWER");
    files.lose_power(nothing_survives()); // what survived is durable
    CHECK(*files.contents("d/f") == "synNEWER");
  }
  SECTION("a part of it") {
    files.lose_power({[](std::size_t) { return std::size_t{0}; },
                      [](const unsynced_write& w) {
                        CHECK(w.bytes == "NEWER");
                        CHECK(w.last);
                        return std::vector<byte_range>{{0, 1}, {4, 1}};
                      }});
    CHECK(*files.contents("d/f") == std::string("synNed\0R", 8));
  }
  SECTION("an empty tape is the least eventful: all is lost") {
    tape dull(1, {});
    files.lose_power(drawn_survival(choices_of(dull, disk0)));
    CHECK(*files.contents("d/f") == "synced");
  }
  SECTION("a sync makes it durable") {
    must((*f)->sync());
    files.lose_power(nothing_survives());
    CHECK(*files.contents("d/f") == "synNEWER");
  }
  SECTION("a failed sync cannot be made good by a later one (R22)") {
    files.fail_next(1);
    CHECK_FALSE((*f)->sync().ok());
    must((*f)->write_at(0, {"S"}));
    must((*f)->sync());
    CHECK(*files.contents("d/f") == "SynNEWER");
    files.lose_power(nothing_survives());
    CHECK(*files.contents("d/f") == "Synced");
  }
}

TEST_CASE("files: names that were not synced are lost from the last one on", "[sim][disk]") {
  simulated_files files;
  const auto create = [&](const char* path) {
    auto f = files.open(path, storage::open_mode::fresh);
    REQUIRE(f.ok());
    must((*f)->write_at(0, {path}));
    must((*f)->sync());
  };
  create("d/a");
  create("e/other");
  must(files.sync_directory("d"));
  must(files.rename("d/a", "d/b"));
  create("d/c");
  must(files.remove("d/b"));
  const auto kept = GENERATE(0u, 1u, 2u, 3u);
  const std::vector<std::vector<std::string>> expected = {{"d/a"}, {"d/b"}, {"d/b", "d/c"}, {"d/c"}};
  CHECK(files.list("d").value() == std::vector<std::string>{"c"});
  files.lose_power({[&](std::size_t pending) { return pending == 3 ? kept : 0u; },
                    [](const unsynced_write&) { return std::vector<byte_range>(); }});
  CHECK(files.paths() == expected[kept]); // e was never synced
  if (files.contents("d/b") != nullptr)
    CHECK(*files.contents("d/b") == "d/a");
}

TEST_CASE("files: a full disk accepts what fits, and freed space can be used", "[sim][disk]") {
  simulated_files files;
  auto f = files.open("d/f", storage::open_mode::fresh);
  REQUIRE(f.ok());
  must((*f)->write_at(0, {"12345"}));
  files.set_capacity(8);
  auto s = (*f)->write_at(4, {"abcdefgh"});
  REQUIRE_FALSE(s.ok());
  CHECK(s.reason().kind == failure_kind::no_space);
  CHECK(*files.contents("d/f") == "1234abcd");
  must((*f)->write_at(0, {"ABCDEFGH"})); // needs no new space
  files.set_full(true);
  CHECK((*f)->write_at(8, {"i"}).reason().kind == failure_kind::no_space);
  files.set_full(false);
  must((*f)->write_at(8, {"i"}));
  CHECK(files.counted().full == 2);
}

TEST_CASE("files: a stop cuts that write, and nothing happens after it", "[sim][disk]") {
  simulated_files files;
  auto f = files.open("d/f", storage::open_mode::fresh);
  REQUIRE(f.ok());
  files.stop_after(2, 1u << 15);
  must((*f)->write_at(0, {"1234"}));
  CHECK_FALSE((*f)->write_at(4, {"abcd"}).ok());
  CHECK(files.stopped());
  CHECK_FALSE((*f)->write_at(0, {"XXXX"}).ok());
  CHECK_FALSE((*f)->sync().ok());
  CHECK_FALSE(files.rename("d/f", "d/g").ok());
  CHECK_FALSE(files.list("d").ok());
  CHECK(*files.contents("d/f") == "1234ab");
  files.kill();
  CHECK(files.list("d").value() == std::vector<std::string>{"f"});
}

TEST_CASE("files: a lock ends with the process that held it", "[sim][disk]") {
  simulated_files files;
  auto held = files.lock("d");
  REQUIRE(held.ok());
  CHECK_FALSE(files.lock("d").ok());
  files.kill();
  auto next = files.lock("d");
  REQUIRE(next.ok());
  *held = nullptr; // the old one's handle ends later: it must not release the new one's lock
  CHECK_FALSE(files.lock("d").ok());
}

// ---- the real log on them

TEST_CASE("log: power losses and kills keep acknowledged entries and nothing partial", "[sim][disk]") {
  // Situation: a long life of appends, truncations, votes, restarts after snapshots, compactions.
  // Event: the process is repeatedly killed or loses power, often in the middle of an append. What
  // would go wrong: the log does not open, an acknowledged entry or vote is lost, half a batch or a
  // gap remains.
  std::uint64_t lost = 0, cut = 0, names = 0, interrupted = 0, lives = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    INFO("seed " << seed);
    tape t(seed);
    seeded_random random(seed);
    owned_log log;
    for (int life = 0; life < 12; ++life, ++lives) {
      for (auto n = random.below(20); n > 0; --n)
        log.step(random);
      const bool power = random.below(3) != 0;
      if (random.below(4) != 0 && log.disk.interrupt_next(t, disk0))
        log.append(tests::draw_batches(log.known, random));
      log.disk.crash(power ? crash_kind::power : crash_kind::kill, t, disk0);
      log.start();
    }
    const auto& c = log.disk.files().counted();
    lost += c.writes_lost;
    cut += c.writes_cut;
    names += c.names_lost;
    interrupted += c.stopped > 0;
  }
  std::cout << "simulated disks: " << lives << " lives, unsynced writes lost " << lost << ", cut " << cut
            << ", names lost " << names << "\n";
  CHECK(lost > 80);
  CHECK(cut > 120);
  CHECK(names > 50);
  CHECK(interrupted > 100);
}

TEST_CASE("log: data that a restarted process has read stays, whatever happens to the power", "[sim][disk]") {
  // Situation: a process is killed between the write and the sync of an append. The next one reads
  // it from the page cache, and may at once acknowledge the entry to a leader, or rely on the vote.
  // Event: power loss before the next write. Wrong would be: the entry or the vote is gone.
  for (std::uint16_t calls = 1; calls <= 7; ++calls)
    for (std::uint64_t before = 0; before < 40; ++before) {
      INFO("call " << calls << " after " << before << " appends");
      simulated_files files;
      auto log = open_log(files);
      REQUIRE(log->load().ok());
      for (std::uint64_t i = 1; i <= before; ++i)
        must(log->append({batch_of({make_entry(i, 1, std::string(300, 'v'))})}));
      auto next = batch_of({make_entry(before + 1, 2, std::string(300, 'w'))});
      next.hard = raft::hard_state{term_id{2}, node_id{3}};
      files.stop_after(calls, 0);
      (void)log->append({next});
      files.kill();
      log = open_log(files);
      const auto read = log->load();
      REQUIRE(read.ok());
      files.lose_power(nothing_survives());
      log = open_log(files);
      const auto again = log->load();
      REQUIRE(again.ok());
      CHECK(again->hard == read->hard);
      CHECK(again->entries.size() == read->entries.size());
    }
}

TEST_CASE("log: each cut of an append leaves the whole of it or nothing", "[sim][disk]") {
  std::size_t cuts = 0, whole = 0;
  for (std::uint64_t calls = 1; calls <= 7; ++calls)
    for (std::uint32_t part = 0; part < 65536; part += 1100) {
      INFO("call " << calls << ", part " << part);
      simulated_files files;
      auto log = open_log(files);
      REQUIRE(log->load().ok());
      expected_log known;
      // Fills the first segment so that, in half of the cases, the next append begins another one.
      for (std::uint64_t i = 1; i <= 8 + part / 1100 % 2 * 3; ++i) {
        const auto b = batch_of({make_entry(i, 1, std::string(600, i % 2 == 0 ? '\0' : 'v'))});
        must(log->append({b}));
        known.apply(b);
      }
      auto after = known;
      const auto batches = std::vector{batch_of({make_entry(known.next_index, 1, std::string(900, 'x'))}),
                                       batch_of({make_entry(known.next_index + 1, 1, std::string(900, '\0'))})};
      for (const auto& b : batches)
        after.apply(b);
      files.stop_after(calls, static_cast<std::uint16_t>(part));
      const bool acknowledged = log->append(batches).ok();
      files.lose_power(all_survives());
      log = open_log(files);
      const auto found = log->load();
      if (!found)
        FAIL(found.error());
      if (acknowledged || known.difference(*found) != "") {
        CHECK(after.difference(*found) == "");
        ++whole;
      }
      ++cuts;
    }
  CHECK(cuts == 420);
  CHECK(whole > 50);
  CHECK(whole < cuts);
}

TEST_CASE("log: a flipped bit is reported, or changes nothing", "[sim][disk]") {
  // Any bit on the disk of a stopped node. Wrong: a log that opens with other contents.
  std::size_t received = 0, harmless = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    INFO("seed " << seed);
    tape t(seed);
    seeded_random random(seed / 10); // ten flips of each life
    owned_log log;
    for (int i = 0; i < 25; ++i)
      log.step(random);
    log.disk.crash(crash_kind::kill, t, disk0);
    INFO(log.disk.flip_bit(t, disk0));
    auto opened = log.disk.open_log();
    REQUIRE(opened.ok());
    const auto found = (*opened)->load();
    if (found) {
      CHECK(log.known.difference(*found) == "");
      ++harmless;
    } else {
      CHECK(found.error().find("is damaged") != std::string::npos);
      ++received;
    }
  }
  CHECK(received > 400);
  CHECK(received + harmless == 600);
}

TEST_CASE("log: a full disk refuses, a failing call ends, and neither loses anything", "[sim][disk]") {
  std::size_t refused = 0, failed = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    tape t(seed);
    seeded_random random(seed);
    owned_log log;
    for (int life = 0; life < 10; ++life) {
      log.disk.set_full(random.below(2) == 0);
      if (random.below(2) == 0)
        log.disk.fail_next(1 + random.below(12));
      for (int i = 0; i < 12 && !log.in_flight; ++i)
        refused += !log.append(tests::draw_batches(log.known, random)) && !log.in_flight;
      failed += log.in_flight.has_value();
      log.disk.crash(log.in_flight && random.below(2) == 0 ? crash_kind::power : crash_kind::kill, t, disk0);
      log.start();
    }
  }
  CHECK(refused > 100);
  CHECK(failed > 100);
}

TEST_CASE("disk: the same tape makes the same bytes, and its taken items make them again", "[sim][disk]") {
  const auto live = [](tape& t) {
    seeded_random random(5);
    owned_log log;
    std::string all;
    for (int life = 0; life < 8; ++life) {
      for (int i = 0; i < 6; ++i)
        log.step(random);
      if (log.disk.interrupt_next(t, disk0))
        log.append(tests::draw_batches(log.known, random));
      log.disk.crash(crash_kind::power, t, disk0);
      for (const auto& path : log.disk.files().paths())
        all += path + *log.disk.files().contents(path);
      log.start();
    }
    return all;
  };
  tape first(9), second(9), other(10);
  const auto bytes = live(first);
  CHECK(bytes == live(second));
  CHECK(bytes != live(other));
  tape again(1, first.taken());
  CHECK(bytes == live(again));
  CHECK(again.taken() == first.taken());
}

TEST_CASE("disk: a wiped one is empty, and a holder of the old log cannot write to it", "[sim][disk]") {
  owned_log log;
  REQUIRE(log.append({batch_of({make_entry(1, 1, "a")})}));
  auto one_row = delta_of(1, {});
  const state::dirty_row row{state::table::counters, "k", state::counter{"k", 1}};
  one_row.digest = state::row_hash(row);
  one_row.rows.push_back(actors::row_change_of(row));
  must(log.disk.checkpoints()->commit(one_row));
  const auto old = log.disk.log();
  log.disk.wipe();
  log.known = {};
  log.start();
  CHECK_FALSE(old->append({batch_of({make_entry(2, 1, "b")})}).ok());
  CHECK(index_of(*log.disk.checkpoints()) == 0);
  CHECK(rows_of(*log.disk.checkpoints()).empty());
}

TEST_CASE("disk: a second life needs the end of the first", "[sim][disk]") {
  owned_log log;
  CHECK(log.disk.open_log().error().find("is in use") != std::string::npos);
  tape dull(1, {});
  log.disk.crash(crash_kind::kill, dull, disk0);
  CHECK(log.disk.open_log().ok());
}

// ---- checkpoints

TEST_CASE("checkpoints: a commit is whole and durable, or the old state stays", "[sim][disk]") {
  simulated_checkpoints store(storage::hash_of_bytes);
  must(commit(store, delta_of(5, {row_of("a", "1"), row_of("b", "2")})));
  const auto next = delta_of(9, {row_of("a", "3"), {3, "b", nullptr}});
  const std::map<std::string, std::string> before = {{"a", "1"}, {"b", "2"}}, after = {{"a", "3"}};

  SECTION("done") {
    must(commit(store, next));
    store.crash();
    CHECK(rows_of(store) == after);
    CHECK(store.info().value()->digest == *storage::hash_of_bytes(3, "a", "3"));
  }
  SECTION("full") {
    store.set_full(true);
    CHECK(commit(store, next).reason().kind == failure_kind::no_space);
    CHECK(store.refused_commits() == 1);
    CHECK(rows_of(store) == before);
    store.set_full(false);
    must(commit(store, next));
    CHECK(rows_of(store) == after);
  }
  SECTION("failed: no later one can succeed") {
    store.fail_next(1);
    CHECK(commit(store, next).reason().kind != failure_kind::no_space);
    CHECK_FALSE(commit(store, next).ok());
    CHECK_FALSE(store.info().ok());
    store.crash();
    CHECK(rows_of(store) == before);
    CHECK(index_of(store) == 5);
  }
  SECTION("interrupted") {
    store.stop_at_next();
    CHECK_FALSE(commit(store, next).ok());
    CHECK_FALSE(store.read_snapshot({}, 0, 100).ok());
    store.crash();
    CHECK(rows_of(store) == before);
    CHECK(index_of(store) == 5);
  }
  SECTION("a full one drops what it does not name") {
    must(commit(store, delta_of(9, {row_of("c", "4")}, true)));
    CHECK(rows_of(store) == std::map<std::string, std::string>{{"c", "4"}});
  }
}

TEST_CASE("checkpoints: every flipped bit is found", "[sim][disk]") {
  simulated_checkpoints store(storage::hash_of_bytes);
  // Keys that differ in one bit: one of them can become the other.
  must(commit(store,
              delta_of(5, {row_of("a", "1"), row_of("c", "1"), row_of("key", std::string(40, '\0')), row_of("", "")})));
  const auto rows = rows_of(store);
  const auto bits = store.used_bits();
  REQUIRE(bits > 500);
  for (std::uint64_t n = 0; n < bits; ++n) {
    INFO("bit " << n);
    store.flip_bit(n);
    const auto info = store.info();
    const auto loaded = info ? store.load([](std::uint8_t, std::string_view, std::string_view) {}) : status(done{});
    CHECK_FALSE((info.ok() && *info && loaded.ok()));
    CHECK_FALSE(store.read_snapshot({}, 0, 100).ok()); // nor is it sent
    store.flip_bit(n);
    store.crash();
  }
  CHECK(rows_of(store) == rows);
}

TEST_CASE("checkpoints: a snapshot is transferred completely, or not at all", "[sim][disk]") {
  simulated_checkpoints from(storage::hash_of_bytes), to(storage::hash_of_bytes);
  std::vector<storage::row_change> rows;
  for (int i = 0; i < 30; ++i)
    rows.push_back(row_of("key" + std::to_string(i), std::string(i, 'v')));
  must(commit(from, delta_of(50, rows)));
  must(commit(to, delta_of(3, {row_of("old", "state")})));

  SECTION("whole") {
    must(transfer(from, to));
    CHECK(rows_of(to) == rows_of(from));
    CHECK(index_of(to) == 50);
    CHECK(to.installed() == 1);
    CHECK(to.chunks_written() >= 8);
    CHECK(to.info().value()->digest == from.info().value()->digest);
  }
  SECTION("frozen: what is committed meanwhile is not in it") {
    const auto first = from.read_snapshot({}, 0, 100);
    REQUIRE(first.ok());
    must(commit(from, delta_of(51, {row_of("key1", "changed")})));
    const auto rest = from.read_snapshot(log_index{50}, 100, 1u << 20);
    REQUIRE(rest.ok());
    REQUIRE(to.write_snapshot(first->meta, 0, *first->bytes, false).ok());
    REQUIRE(to.write_snapshot(first->meta, 100, *rest->bytes, true).ok());
    CHECK(rows_of(to).at("key1") == "v");
    CHECK(from.read_snapshot({}, 0, 100)->meta.index == log_index{51});
    CHECK(from.read_snapshot(log_index{50}, 0, 100).ok());
    from.crash();
    CHECK(from.read_snapshot(log_index{50}, 0, 100).error().find("no longer exists") != std::string::npos);
  }
  SECTION("half of it is lost at a crash") {
    must(transfer(from, to, 4));
    to.crash();
    const auto c = from.read_snapshot(log_index{50}, 400, 100);
    REQUIRE(c.ok());
    CHECK_FALSE(to.write_snapshot(c->meta, 400, *c->bytes, c->last).ok());
    CHECK(index_of(to) == 3);
    must(transfer(from, to));
    CHECK(index_of(to) == 50);
  }
  SECTION("a bit that flips in transit is reported, and the next try succeeds") {
    for (auto* where : {&from, &to})
      for (std::uint64_t bit = 0; bit < 800; bit += 3) {
        INFO("bit " << bit);
        simulated_checkpoints target(storage::hash_of_bytes);
        (where == &to ? target : from).flip_bit_of_next_chunk(bit);
        REQUIRE_FALSE(transfer(from, target).ok());
        CHECK(index_of(target) == 0);
        must(transfer(from, target));
        CHECK(index_of(target) == 50);
      }
  }
  SECTION("a full disk refuses it") {
    to.set_full(true);
    CHECK(transfer(from, to).reason().kind == failure_kind::no_space);
    CHECK(index_of(to) == 3);
  }
  SECTION("metadata of another checkpoint") {
    const auto c = from.read_snapshot({}, 0, 1u << 20);
    REQUIRE((c.ok() && c->last));
    auto meta = c->meta;
    meta.index = log_index{60};
    CHECK_FALSE(to.write_snapshot(meta, 0, *c->bytes, true).ok());
    CHECK(index_of(to) == 3);
  }
}

} // namespace belay::sim
