// The file of the operating system: what its durable appends leave in it.

#include "protocol/base/random.hpp"
#include "storage/file_system.hpp"
#include "tests/storage/scratch_directory.hpp"

namespace belay::tests {

using storage::file;
using storage::open_mode;

namespace {

void must(const status& s) {
  if (!s)
    FAIL(s.error());
}

std::unique_ptr<file> opened(const std::string& path, open_mode mode) {
  auto f = storage::posix_file_system().open(path, mode);
  if (!f)
    FAIL(f.error());
  return std::move(f).value();
}

/// A file of zeros and what it should hold.
struct filled_file {
  std::string path, expected;
  std::unique_ptr<file> f;
  std::size_t end = 0; ///< of what was appended

  filled_file(std::string where, std::size_t bytes)
      : path(std::move(where)), expected(bytes, '\0'), f(opened(path, open_mode::fresh)) {
    must(f->write_at(0, {expected}));
    must(f->sync());
  }
  void append(const std::string& bytes) {
    must(f->append_durably(end, bytes));
    note(bytes);
  }
  void note(const std::string& bytes) {
    expected.replace(end, bytes.size(), bytes);
    end += bytes.size();
  }
  void reopen() { f = opened(path, open_mode::existing); }
  void check() {
    auto all = storage::read_whole(*f);
    REQUIRE(all.ok());
    REQUIRE(all->size() == expected.size());
    CHECK(*all == expected);
  }
};

std::string noise(seeded_random& random, std::size_t bytes) {
  std::string s(bytes, '\0');
  for (auto& c : s)
    c = static_cast<char>(random.next());
  return s;
}

void append_everything(const std::filesystem::path& below) {
  scratch_directory scratch(below);
  filled_file file(scratch.path + "/f", 8u << 20);
  seeded_random random(11);
  // Within a block, up to its end, over it, one block, many, more than is written past the page cache.
  for (const std::size_t bytes : {1u, 400u, 3695u, 4096u, 4095u, 1u, 5000u, 70'000u, 3u << 20, 100u})
    file.append(noise(random, bytes));
  file.check();
  file.reopen();
  for (int i = 0; i < 200; ++i) {
    file.append(noise(random, 1 + random.below(9000)));
    if (i % 40 == 0) { // an ordinary write in between, as at the beginning of a segment
      const auto bytes = noise(random, 1 + random.below(5000));
      must(file.f->write_at(file.end, {bytes}));
      must(file.f->sync());
      file.note(bytes);
    }
    if (i % 70 == 0)
      file.reopen();
  }
  file.check();
}

} // namespace

TEST_CASE("durable appends of all sizes leave exactly their bytes and zeros behind") {
  append_everything(std::filesystem::temp_directory_path());
}

TEST_CASE("a file system in memory takes durable appends, too") {
  if (!std::filesystem::is_directory("/dev/shm"))
    return;
  append_everything("/dev/shm");
}

TEST_CASE("a durable append that fails says so") {
  if (!std::filesystem::exists("/dev/full"))
    return;
  auto f = storage::posix_file_system().open("/dev/full", open_mode::existing);
  REQUIRE(f.ok());
  const auto s = (*f)->append_durably(0, "lost");
  REQUIRE_FALSE(s.ok());
  CHECK(s.error().find("/dev/full") != std::string::npos);
}

} // namespace belay::tests
