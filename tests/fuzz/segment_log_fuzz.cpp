// Segment files with any bytes: opening the log ends in a log or in a failure with a text, never in a crash.

#include "protocol/base/random.hpp"
#include "storage/segment_log.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace belay::tests {

namespace {

namespace fs = std::filesystem;

struct scratch_log {
  std::string path = (fs::temp_directory_path() / "belay-fuzz-XXXXXX").string();
  scratch_log() { REQUIRE(mkdtemp(path.data()) != nullptr); }
  ~scratch_log() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string file(std::uint64_t number) const { return path + "/" + storage::segment_name(number); }
};

storage::segment_log_options small() {
  storage::segment_log_options o;
  o.segment_bytes = 4096;
  o.fill_bytes = 4096;
  o.seed = 99;
  return o;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
  REQUIRE(out.good());
}

/// A log of a few segments with all kinds of batches: the seed of the mutations.
std::vector<std::string> make_corpus() {
  scratch_log scratch;
  auto log = storage::segment_log::open(storage::posix_file_system(), scratch.path, small());
  REQUIRE(log.ok());
  REQUIRE((*log)->load().ok());
  std::uint64_t next = 1;
  for (std::uint64_t i = 0; i < 30; ++i) {
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
    REQUIRE((*log)->append({b}).ok());
  }
  std::vector<std::string> segments;
  for (std::uint64_t n = 1; n <= (*log)->segment_count(); ++n)
    segments.push_back(read_file(scratch.file(n)));
  return segments;
}

std::uint32_t get_u32(const std::string& s, std::size_t at) {
  return byte_reader(std::string_view(s).substr(at)).u32();
}

void put_u32(std::string& s, std::size_t at, std::uint32_t v) {
  for (std::size_t i = 0; i < 4; ++i)
    s[at + i] = static_cast<char>(v >> (8 * i));
}

/// Changes a body and makes its checksums right again, so that what reads the body is reached.
bool mutate_body(std::string& segment, seeded_random& random) {
  const auto header = storage::decode_segment_header(segment);
  if (!header)
    return false;
  const auto at = storage::segment_header_bytes;
  if (segment.size() < at + storage::frame_header_bytes)
    return false;
  const auto n = get_u32(segment, at + 4);
  if (n == 0 || at + storage::frame_bytes(n) > segment.size())
    return false;
  for (std::uint64_t i = 0; i <= random.below(4); ++i)
    segment[at + storage::frame_header_bytes + random.below(std::min<std::uint64_t>(n, 64))] =
        static_cast<char>(random.next());
  std::string seed;
  byte_writer w(seed);
  w.u64(header->number);
  w.u64(header->salt);
  const auto crc = crc32c(seed);
  put_u32(segment, at + 16, crc32c(std::string_view(segment).substr(at + storage::frame_header_bytes, n), crc));
  put_u32(segment, at + 24, crc32c(std::string_view(segment).substr(at, 24), crc));
  return true;
}

void mutate(std::string& s, seeded_random& random) {
  switch (random.below(7)) {
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
  case 4:
    s.append(random.below(5000), static_cast<char>(random.next()));
    break;
  default:
    (void)mutate_body(s, random);
  }
}

struct tally {
  int opened = 0;
  int refused = 0;
};

void open_mutated(const std::vector<std::string>& segments, tally& t) {
  scratch_log scratch;
  for (std::size_t i = 0; i < segments.size(); ++i)
    write_file(scratch.file(i + 1), segments[i]);
  auto log = storage::segment_log::open(storage::posix_file_system(), scratch.path, small());
  REQUIRE(log.ok());
  auto found = (*log)->load();
  if (!found) {
    ++t.refused;
    CHECK(found.error().find("Raft log is damaged") != std::string::npos);
    return;
  }
  ++t.opened;
  for (std::size_t i = 1; i < found->entries.size(); ++i)
    REQUIRE(found->entries[i].index == found->entries[i - 1].index.next());
}

} // namespace

TEST_CASE("mutated segments open or are refused") {
  const auto corpus = make_corpus();
  REQUIRE(corpus.size() >= 3);
  seeded_random random(2024);
  tally t;
  for (int i = 0; i < 4000; ++i) {
    auto segments = corpus;
    for (std::uint64_t m = 0; m <= random.below(2); ++m) {
      auto& s = segments[random.below(segments.size())];
      if (!s.empty())
        mutate(s, random);
    }
    INFO("mutation " << i);
    open_mutated(segments, t);
  }
  CHECK(t.opened > 100);
  CHECK(t.refused > 1000);
}

TEST_CASE("segments of nothing, noise and zeros are refused") {
  seeded_random random(5);
  tally t;
  std::string noise(4096, '\0');
  for (auto& c : noise)
    c = static_cast<char>(random.next());
  for (const auto& s :
       {std::string{}, std::string(4096, '\0'), noise, std::string("BELAYSEG"), std::string("BELAYSEG\x01\0\0\0", 12)})
    open_mutated({s}, t);
  CHECK(t.refused == 5);
}

} // namespace belay::tests
