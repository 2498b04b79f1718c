// Segment files with any bytes: opening the log ends in a log or an error, never in a crash.

#include "tests/fuzz/corpus.hpp"
#include "tests/fuzz/subjects.hpp"

#include "protocol/wire/entry_codec.hpp"
#include "sim/disks/memory_files.hpp"
#include "storage/log/segment_log.hpp"

#include <array>

using namespace belay;
using namespace belay::fuzz;

namespace {

raft::persist_batch batch_of(std::uint64_t i, std::uint64_t& next) {
  raft::persist_batch b;
  if (i % 7 == 0)
    b.hard = raft::hard_state{term_id{i + 1}, node_id{i}};
  if (i == 20)
    b.restart_after.emplace().index = log_index{next++};
  if (i % 11 == 5)
    b.truncate_from = log_index{--next};
  for (int e = 0; e < 3; ++e, ++next)
    b.entries.push_back({log_index{next}, term_id{i + 1}, cluster_time{i}, raft::entry_kind::command,
                         make_payload(std::string(i * 4, static_cast<char>(i % 5 == 0 ? 0 : i)))});
  return b;
}

/// A log of a few segments with all kinds of batches.
std::vector<std::string> written_log(storage::segment_version version = storage::segment_version::aligned_frames) {
  sim::memory_files files;
  storage::segment_log_options o;
  o.segment_bytes = log_segment_bytes;
  o.fill_bytes = log_segment_bytes;
  o.seed = 99;
  o.newest = version;
  auto log = storage::segment_log::open(files, "raft", o);
  REQUIRE(log.ok());
  REQUIRE((*log)->load().ok());
  std::uint64_t next = 1;
  for (std::uint64_t i = 0; i < 30; ++i)
    REQUIRE((*log)->append({batch_of(i, next)}).ok());
  std::vector<std::string> segments;
  for (std::uint64_t n = 1; n <= (*log)->segment_count(); ++n)
    segments.push_back(*files.contents.at(storage::segment_name(n)));
  return segments;
}

/// Leaves out zeros at the end of a segment: the subject restores them.
std::string packed(char kind, const std::vector<std::string>& segments) {
  std::string input(1, kind);
  for (const auto& s : segments) {
    const auto used = s.find_last_not_of('\0');
    add_piece(input, std::string_view(s).substr(0, used == std::string::npos ? 0 : used + 1));
  }
  return input;
}

/// Unlike packed(), keeps segments of any size unchanged.
std::string packed_exactly(char kind, const std::vector<std::string>& segments) {
  std::string input(1, kind);
  for (const auto& s : segments) {
    const auto at = input.size() + 1;
    add_piece(input, s);
    input[at] = static_cast<char>(input[at] | 0x80);
  }
  return input;
}

corpus log_samples() {
  corpus all;
  const auto segments = written_log();
  REQUIRE(segments.size() >= 3);
  all["segments"] = packed('s', segments);
  all["segments_repaired"] = packed('r', segments);
  all["first_segment"] = packed('s', {segments[0]});
  auto torn = segments[0];
  const auto used = torn.find_last_not_of('\0');
  std::fill(torn.begin() + static_cast<std::ptrdiff_t>(used - 20), torn.end(), '\0');
  all["torn_end"] = packed('s', {torn});
  const auto sectors = written_log(storage::segment_version::sectors);
  REQUIRE(sectors.size() >= 3);
  all["sectors"] = packed('s', sectors);
  all["sectors_repaired"] = packed('r', sectors);
  auto torn_sectors = sectors[0];
  const auto last_sector = torn_sectors.find_last_not_of('\0') / storage::sector_bytes * storage::sector_bytes;
  std::fill(torn_sectors.begin() + static_cast<std::ptrdiff_t>(last_sector), torn_sectors.end(), '\0');
  all["torn_sectors"] = packed('s', {torn_sectors});
  std::string bodies = "b";
  std::uint64_t next = 1;
  for (std::uint64_t i = 0; i < 30; i += 1) {
    std::string frame;
    storage::encode_frame({batch_of(i, next)}, frame);
    add_piece(bodies, storage::encoded_body(frame));
  }
  all["bodies"] = bodies;
  return all;
}

void mutate_segment(std::string& s, seeded_random& random) {
  switch (random.below(5)) {
  case 0:
    s[random.below(s.size())] = static_cast<char>(random.next());
    break;
  case 1: {
    const auto at = random.below(s.size());
    const auto n = std::min<std::size_t>(random.below(700), s.size() - at);
    std::fill_n(s.begin() + static_cast<std::ptrdiff_t>(at), n,
                static_cast<char>(random.below(2) == 0 ? 0 : random.next()));
    break;
  }
  case 2:
    s.resize(random.below(s.size() + 1));
    break;
  case 3: {
    const auto from = random.below(s.size()), to = random.below(s.size());
    const auto n = std::min<std::size_t>(random.below(600), s.size() - std::max(from, to));
    s.replace(to, n, s.substr(from, n));
    break;
  }
  default:
    s.append(random.below(5000), static_cast<char>(random.next()));
  }
}

struct tally {
  std::array<int, 3> seen{};

  void count(log_finding f) { ++seen[static_cast<std::size_t>(f)]; }
  int of(log_finding f) const { return seen[static_cast<std::size_t>(f)]; }
};

} // namespace

TEST_CASE("segment log: samples of the present encoding are stored, and open", "[corpus]") {
  check_stored("segment_log", log_samples());
  for (const auto& [name, bytes] : log_samples()) {
    INFO(name);
    CHECK(run_input(fuzz_segment_log, bytes) == log_finding::opened_with_entries);
  }
}

TEST_CASE("segment log: stored inputs keep the property") {
  for (const auto& [name, bytes] : read_corpus("segment_log")) {
    INFO(name);
    (void)run_input(fuzz_segment_log, bytes);
  }
}

TEST_CASE("segment log: mutated segments open or are refused") {
  const std::array written{written_log(), written_log(storage::segment_version::sectors)};
  seeded_random random(2024);
  tally t;
  for (int round = 0; round < 3000; ++round) {
    INFO("round " << round);
    auto segments = written[random.below(written.size())];
    for (auto m = 1 + random.below(2); m > 0; --m) {
      auto& s = segments[random.below(segments.size())];
      if (!s.empty())
        mutate_segment(s, random);
    }
    t.count(run_input(fuzz_segment_log, packed_exactly(random.below(3) == 0 ? 'r' : 's', segments)));
  }
  CHECK(t.of(log_finding::opened_with_entries) > 100);
  CHECK(t.of(log_finding::refused) > 1000);
}

TEST_CASE("segment log: mutated contents open or are refused") {
  const auto stored = read_corpus("segment_log");
  const std::vector<std::string> inputs{stored.at("bodies"), stored.at("segments_repaired"),
                                        stored.at("sectors_repaired")};
  seeded_random random(2025);
  tally t;
  for (int round = 0; round < 3000; ++round) {
    INFO("round " << round);
    auto input = inputs[random.below(inputs.size())];
    for (auto m = 1 + random.below(3); m > 0; --m)
      mutate_bytes(input, inputs[random.below(inputs.size())], random);
    t.count(run_input(fuzz_segment_log, input));
  }
  CHECK(t.of(log_finding::opened_with_entries) > 100);
  CHECK(t.of(log_finding::refused) > 1000);
}

TEST_CASE("segment log: segments of nothing, noise and zeros are refused") {
  seeded_random random(5);
  std::string noise(log_segment_bytes, '\0');
  for (auto& c : noise)
    c = static_cast<char>(random.next());
  for (const auto& s : {std::string{}, std::string(log_segment_bytes, '\0'), noise, std::string("BELAYSEG"),
                        std::string("BELAYSEG\x01\0\0\0", 12)})
    CHECK(run_input(fuzz_segment_log, packed_exactly('s', {s})) == log_finding::refused);
}
