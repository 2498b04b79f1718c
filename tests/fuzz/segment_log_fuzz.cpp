// Segment files with any bytes: opening the log ends in a log or in a failure with a text, never in a crash.

#include "protocol/base/random.hpp"
#include "storage/segment_log.hpp"

#include <catch2/catch.hpp>

#include <map>

namespace belay::tests {

namespace {

/// Just enough of a disk.
class memory_files : public storage::file_system {
public:
  std::map<std::string, std::string> contents; ///< by plain name

  result<std::unique_ptr<storage::file>> open(const std::string& path, storage::open_mode mode) override {
    if (mode == storage::open_mode::fresh)
      contents[plain(path)].clear();
    return std::unique_ptr<storage::file>(std::make_unique<memory_file>(contents[plain(path)]));
  }
  status rename(const std::string& from, const std::string& to) override {
    // The map's node moves, so that an open file stays valid.
    contents.erase(plain(to));
    auto node = contents.extract(plain(from));
    node.key() = plain(to);
    contents.insert(std::move(node));
    return done{};
  }
  status remove(const std::string& path) override {
    contents.erase(plain(path));
    return done{};
  }
  status sync_directory(const std::string&) override { return done{}; }
  status make_directory(const std::string&) override { return done{}; }
  result<std::vector<std::string>> list(const std::string&) override {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : contents)
      names.push_back(name);
    return names;
  }
  result<std::unique_ptr<storage::file_lock>> lock(const std::string&) override {
    return std::make_unique<storage::file_lock>();
  }

private:
  struct memory_file : storage::file {
    explicit memory_file(std::string& b) : bytes(b) {}
    result<std::size_t> read_at(std::uint64_t offset, char* into, std::size_t n) override {
      return offset >= bytes.size() ? 0 : bytes.copy(into, n, offset);
    }
    status write_at(std::uint64_t offset, const std::vector<std::string_view>& parts) override {
      for (auto p : parts) {
        if (bytes.size() < offset + p.size())
          bytes.resize(offset + p.size());
        bytes.replace(offset, p.size(), p);
        offset += p.size();
      }
      return done{};
    }
    status sync() override { return done{}; }
    void begin_writeback(std::uint64_t, std::uint64_t) override {}
    result<std::uint64_t> size() override { return std::uint64_t{bytes.size()}; }
    std::string& bytes;
  };

  static std::string plain(const std::string& path) { return path.substr(path.rfind('/') + 1); }
};

storage::segment_log_options small() {
  storage::segment_log_options o;
  o.segment_bytes = 4096;
  o.fill_bytes = 4096;
  o.seed = 99;
  return o;
}

/// A log of a few segments with all kinds of batches: the seed of the mutations.
std::vector<std::string> make_corpus() {
  memory_files files;
  auto log = storage::segment_log::open(files, "raft", small());
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
    segments.push_back(files.contents.at(storage::segment_name(n)));
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
  memory_files files;
  for (std::size_t i = 0; i < segments.size(); ++i)
    files.contents[storage::segment_name(i + 1)] = segments[i];
  auto log = storage::segment_log::open(files, "raft", small());
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
