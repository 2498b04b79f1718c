// The Raft log on a disk that works.

#include "sim/disks/simulated_files.hpp"
#include "tests/harness/scratch.hpp"
#include "tests/storage/log_story.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

namespace belay::tests {

using sim::simulated_files;
using storage::segment_log;
using storage::segment_log_options;

namespace {

segment_log_options small(std::size_t segment_bytes = 8192) {
  segment_log_options o;
  o.segment_bytes = segment_bytes;
  o.fill_bytes = 2048;
  o.seed = 7;
  o.newest = begun_version;
  return o;
}

std::unique_ptr<segment_log> open_log(storage::file_system& files, segment_log_options o = small(),
                                      const std::string& directory = "raft") {
  auto log = segment_log::open(files, directory, o);
  REQUIRE(log.ok());
  return std::move(log).value();
}

storage::loaded_log loaded(segment_log& log) {
  auto l = log.load();
  if (!l)
    FAIL(l.error());
  return std::move(l).value();
}

void fine(const status& s) {
  if (!s)
    FAIL(s.error());
  SUCCEED();
}

using harness::scratch_folder;

} // namespace

TEST_CASE("appended entries are loaded again, on a real disk") {
  each_version();
  scratch_folder scratch;
  const auto directory = scratch / "a/raft";
  expected_log expected;
  {
    auto log = open_log(storage::posix_file_system(), small(), directory);
    CHECK(loaded(*log).entries.empty());
    raft::persist_batch b =
        batch_of({make_entry(1, 3, "", raft::entry_kind::noop), make_entry(2, 3, std::string(300, 'x'))});
    b.hard = raft::hard_state{term_id{3}, node_id{12}};
    fine(log->append({b}));
    expected.apply(b);
    b = batch_of({make_entry(3, 3, std::string(20000, '\0'), raft::entry_kind::configuration)});
    fine(log->append({b}));
    expected.apply(b);
  }
  auto log = open_log(storage::posix_file_system(), small(), directory);
  CHECK(expected.difference(loaded(*log)) == "");
}

TEST_CASE("a data directory has one owner") {
  // Two owners would overwrite each other's frames. flock also separates opens in one process.
  scratch_folder scratch;
  auto first = open_log(storage::posix_file_system(), small(), scratch.path());
  auto second = segment_log::open(storage::posix_file_system(), scratch.path(), small());
  REQUIRE_FALSE(second.ok());
  CHECK(second.error().find("in use by another process") != std::string::npos);
  first.reset();
  CHECK(segment_log::open(storage::posix_file_system(), scratch.path(), small()).ok());
}

TEST_CASE("many batches cost one write and one sync") {
  each_version();
  simulated_files disk;
  auto o = small(1 << 20);
  o.fill_bytes = 8 << 20; // the next segment is ready after the first append, so that filling is not counted below
  auto log = open_log(disk, o);
  loaded(*log);
  fine(log->append({batch_of({make_entry(1, 1, "first")})}));
  const auto syncs = disk.counted().syncs;
  const auto writes = disk.counted().writes;
  std::vector<raft::persist_batch> batches;
  for (std::uint64_t i = 2; i < 258; ++i)
    batches.push_back(batch_of({make_entry(i, 1, std::string(300, 'v'))}));
  fine(log->append(batches));
  CHECK(disk.counted().syncs == syncs + 1);
  CHECK(disk.counted().writes == writes + 1);
}

TEST_CASE("a truncated suffix does not return") {
  each_version();
  // A follower overwrites an old leader's entries: hard state, truncation, new entries in a batch.
  simulated_files disk;
  expected_log expected;
  {
    auto log = open_log(disk);
    loaded(*log);
    raft::persist_batch b = batch_of({make_entry(1, 1, "a"), make_entry(2, 1, "b"), make_entry(3, 1, "c")});
    fine(log->append({b}));
    expected.apply(b);
    b = batch_of({make_entry(2, 2, "B")});
    b.hard = raft::hard_state{term_id{2}, node_id{}};
    b.truncate_from = log_index{2};
    fine(log->append({b}));
    expected.apply(b);
  }
  auto log = open_log(disk);
  const auto found = loaded(*log);
  CHECK(expected.difference(found) == "");
  CHECK(found.entries.size() == 2);
}

TEST_CASE("a restart after a snapshot drops everything before it") {
  each_version();
  simulated_files disk;
  {
    auto log = open_log(disk);
    loaded(*log);
    fine(log->append({batch_of({make_entry(1, 1, "a"), make_entry(2, 1, "b")})}));
    raft::persist_batch b;
    b.restart_after.emplace().index = log_index{100};
    fine(log->append({b, batch_of({make_entry(101, 4, "n")})}));
  }
  auto log = open_log(disk);
  const auto found = loaded(*log);
  REQUIRE(found.entries.size() == 1);
  CHECK(found.entries[0].index == log_index{101});
}

TEST_CASE("batches that do not follow the log are refused before anything is written") {
  each_version();
  simulated_files disk;
  auto log = open_log(disk);
  loaded(*log);
  fine(log->append({batch_of({make_entry(1, 1, "a")})}));
  const auto writes = disk.counted().writes;
  const auto s = log->append({batch_of({make_entry(3, 1, "c")})});
  REQUIRE_FALSE(s.ok());
  CHECK(s.error().find("unexpected entry 3 instead of 2") != std::string::npos);
  CHECK(disk.counted().writes == writes);
  CHECK_FALSE(log->append({batch_of({make_entry(2, 1, "b")})}).ok()); // and it stays closed
}

TEST_CASE("compaction deletes whole segments, keeps the vote, and old bytes never return") {
  each_version();
  // Segments are reused: frames of their earlier life must not be taken for new ones.
  simulated_files disk;
  expected_log expected;
  auto options = small();
  options.free_segments_max = 8;
  auto log = open_log(disk, options);
  loaded(*log);
  raft::persist_batch vote;
  vote.hard = raft::hard_state{term_id{9}, node_id{2}};
  fine(log->append({vote}));
  expected.apply(vote);
  std::size_t segments_most = 0;
  std::uint64_t writes = 0;
  for (std::uint64_t i = 1; i <= 500; ++i) {
    if (i == 400)
      writes = disk.counted().writes;
    const auto b = batch_of({make_entry(i, 9, std::string(300, 'v'))});
    fine(log->append({b}));
    expected.apply(b);
    if (i % 60 == 0) {
      segments_most = std::max(segments_most, log->segment_count());
      expected.first_kept = i - 10;
      fine(log->compact(log_index{i - 10}));
      CHECK(log->segment_count() <= 2);
    }
  }
  // Sectors verify themselves, so a used-up segment is not filled with zeros again (a new file is).
  writes = disk.counted().writes - writes;
  CAPTURE(writes);
  CHECK((sectors() ? writes <= 105 : writes > 110));
  CHECK(segments_most >= 3);
  CHECK(log->counters().segments_recycled >= 10);
  CHECK(log->counters().waited_for_fill == 0);
  CHECK(disk.paths().size() <= 15);
  log.reset();
  log = open_log(disk);
  const auto found = loaded(*log);
  CHECK(expected.difference(found) == "");
  CHECK(found.entries.size() < 100);
}

TEST_CASE("a value larger than a segment gets a segment of its own") {
  each_version();
  simulated_files disk;
  expected_log expected;
  {
    auto log = open_log(disk);
    loaded(*log);
    for (std::uint64_t i = 1; i <= 5; ++i) {
      const auto b = batch_of({make_entry(i, 1, std::string(i % 2 == 0 ? 100000 : 100, 'v'))});
      fine(log->append({b}));
      expected.apply(b);
    }
  }
  auto log = open_log(disk);
  CHECK(expected.difference(loaded(*log)) == "");
}

TEST_CASE("a full disk refuses the append and leaves the log usable") {
  each_version();
  simulated_files disk;
  expected_log expected;
  auto log = open_log(disk);
  loaded(*log);
  disk.set_capacity(3 * 8192);
  std::uint64_t index = 1;
  status s = done{};
  for (; index < 1000; ++index) {
    const auto b = batch_of({make_entry(index, 1, std::string(300, 'v'))});
    s = log->append({b});
    if (!s)
      break;
    expected.apply(b);
  }
  REQUIRE_FALSE(s.ok());
  CHECK(s.reason().kind == failure_kind::no_space);
  CHECK(index > (sectors() ? 40 : 60)); // all three segments were used up first
  // A huge append does not fit, and must not prevent a small one later.
  CHECK(log->append({batch_of({make_entry(index, 1, std::string(50000, 'v'))})}).reason().kind ==
        failure_kind::no_space);
  {
    auto copy = disk.copy();
    auto other = open_log(*copy);
    CHECK(expected.difference(loaded(*other)) == "");
  }
  disk.set_full(false); // there is room again
  const auto b = batch_of({make_entry(index, 1, std::string(300, 'w'))});
  fine(log->append({b}));
  expected.apply(b);
  log.reset();
  log = open_log(disk);
  CHECK(expected.difference(loaded(*log)) == "");
}

// Situation: the older generation of a checkpoint is replaced, and 64 segments are not needed any
// more. What would go wrong: appends wait until all of them are removed.
TEST_CASE("compaction in slices removes as many segments as it may") {
  each_version();
  simulated_files disk;
  expected_log expected;
  auto log = open_log(disk);
  loaded(*log);
  for (std::uint64_t i = 1; i <= 200; ++i) {
    const auto b = batch_of({make_entry(i, 9, std::string(300, 'v'))});
    fine(log->append({b}));
    expected.apply(b);
  }
  const auto segments = log->segment_count();
  REQUIRE(segments > 5);
  for (auto left = segments; left > 3; left -= 2) {
    const auto more = log->compact(log_index{200}, 2);
    CHECK((more && *more));
    CHECK(log->segment_count() == left - 2);
  }
  for (int again = 0; again < 2; ++again) {
    const auto more = log->compact(log_index{200}, 2);
    CHECK((more && !*more));
    CHECK(log->segment_count() == 1);
  }
  expected.first_kept = 200;
  log.reset();
  log = open_log(disk);
  CHECK(expected.difference(loaded(*log)) == "");
}

TEST_CASE("compaction makes room on a full disk") {
  each_version();
  simulated_files disk;
  auto log = open_log(disk);
  loaded(*log);
  disk.set_capacity(3 * 8192);
  std::uint64_t index = 1;
  while (log->append({batch_of({make_entry(index, 1, std::string(300, 'v'))})}).ok())
    ++index;
  fine(log->compact(log_index{index}));
  fine(log->append({batch_of({make_entry(index, 1, std::string(300, 'v'))})}));
}

TEST_CASE("a changed bit in written data is damage, never an end") {
  each_version();
  // One flipped bit must not lose the acknowledged entries after it, nor the last one.
  simulated_files disk;
  {
    auto log = open_log(disk);
    loaded(*log);
    for (std::uint64_t i = 1; i <= 40; ++i)
      fine(log->append({batch_of({make_entry(i, 1, std::string(i % 3 == 0 ? 1500 : 100, i % 2 == 0 ? '\0' : 'v'))})}));
  }
  seeded_random random(5);
  std::size_t flips = 0;
  for (const auto& name : disk.paths()) {
    if (!name.ends_with(".segment"))
      continue;
    const auto end = disk.contents(name)->find_last_not_of('\0');
    for (std::size_t at = 0; at <= end; at += 1 + random.below(40)) {
      auto copy = disk.copy();
      auto& bytes = *copy->contents(name);
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
      const auto before = bytes;
      auto log = open_log(*copy);
      const auto found = log->load();
      ++flips;
      INFO(name << " offset " << at);
      REQUIRE_FALSE(found.ok());
      CHECK(found.error().find(name) != std::string::npos);
      CHECK(found.error().find("offset") != std::string::npos);
      CHECK(found.error().find("move the whole data directory away") != std::string::npos);
      CHECK(*copy->contents(name) == before);
    }
  }
  CHECK(flips > 500);
}

TEST_CASE("a sector lost in the middle is damage, though it looks like a write that was cut") {
  each_version();
  // Zeros where an acknowledged frame was: only the frames after it show that it was complete once.
  simulated_files disk;
  {
    auto log = open_log(disk);
    loaded(*log);
    for (std::uint64_t i = 1; i <= 10; ++i)
      fine(log->append({batch_of({make_entry(i, 1, std::string(600, 'v'))})}));
  }
  std::size_t lost = 0;
  // Frames have 672 bytes, or two sectors: then seven fit into the first segment.
  for (std::size_t at = 512, end = sectors() ? 512 + 7 * 1024 : 9 * 672; at < end; at += 512, ++lost) {
    auto copy = disk.copy();
    copy->contents("raft/" + storage::segment_name(1))->replace(at, 512, 512, '\0');
    INFO("offset " << at);
    const auto found = open_log(*copy)->load();
    REQUIRE_FALSE(found.ok());
    CHECK(found.error().find("is damaged") != std::string::npos);
  }
  CHECK(lost == (sectors() ? 14 : 11));
}

TEST_CASE("a changed bit in a last value that is mostly zeros is damage") {
  each_version();
  // Its sectors of zeros are contents: they must not count as never written.
  simulated_files disk;
  auto log = open_log(disk);
  loaded(*log);
  fine(log->append({batch_of({make_entry(1, 1, "first")})}));
  fine(log->append({batch_of({make_entry(2, 1, "a needle" + std::string(4000, '\0'))})}));
  log.reset();
  auto& bytes = *disk.contents("raft/" + storage::segment_name(1));
  bytes[bytes.find("needle")] ^= 1;
  CHECK(open_log(disk)->load().error().find("is not an incomplete write") != std::string::npos);
}

TEST_CASE("a segment that is missing, shortened or of a newer version is reported") {
  each_version();
  simulated_files disk;
  {
    auto log = open_log(disk);
    loaded(*log);
    for (std::uint64_t i = 1; i <= 100; ++i)
      fine(log->append({batch_of({make_entry(i, 1, std::string(300, 'v'))})}));
    REQUIRE(log->segment_count() >= 4);
  }
  auto copy = disk.copy();
  SECTION("missing") {
    fine(copy->remove("raft/" + storage::segment_name(2)));
    CHECK(open_log(*copy)->load().error().find("is missing") != std::string::npos);
  }
  SECTION("shortened") {
    copy->contents("raft/" + storage::segment_name(2))->resize(4096);
    CHECK(open_log(*copy)->load().error().find("has 4096 bytes instead of 8192") != std::string::npos);
  }
  SECTION("newer") {
    (*copy->contents("raft/" + storage::segment_name(2)))[8] = 3;
    CHECK(open_log(*copy)->load().error().find("format version 3") != std::string::npos);
  }
  SECTION("renamed") {
    *copy->contents("raft/" + storage::segment_name(2)) = *copy->contents("raft/" + storage::segment_name(3));
    CHECK(open_log(*copy)->load().error().find("belongs to segment 3") != std::string::npos);
  }
}

} // namespace belay::tests
