// The files of the audit log: when they are rotated, and what a full disk leaves in them.

#include "actors/audit/rotated_file.hpp"
#include "tests/harness/scratch.hpp"

#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>

using namespace belay;
using namespace belay::actors;
using namespace std::chrono_literals;
using harness::scratch_folder;

namespace {

constexpr std::int64_t start_ns = 1'600'000'000'000'000'000;

rotated_file opened(const rotation_rules& rules, std::int64_t now_ns = start_ns) {
  auto f = rotated_file::open(rules, now_ns);
  INFO((f ? "" : f.error()));
  REQUIRE(f);
  return std::move(*f);
}

/// Names and texts of the files in a folder.
std::map<std::string, std::string> files_in(const std::filesystem::path& folder) {
  std::map<std::string, std::string> out;
  for (const auto& each : std::filesystem::directory_iterator(folder))
    if (each.is_regular_file())
      out[each.path().filename().string()] = harness::file_text(each.path());
  return out;
}

mode_t mode_of(const std::string& path) {
  struct stat s {};
  REQUIRE(::stat(path.c_str(), &s) == 0);
  return s.st_mode & 07777;
}

std::string name_at(std::int64_t ns) {
  return "audit-" + std::to_string(ns) + ".json";
}

/// While it exists, no file of this process may be longer: simulates a full disk, without root.
class file_size_limit {
public:
  explicit file_size_limit(rlim_t bytes) {
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &old_) == 0);
    const rlimit small{bytes, old_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  }
  ~file_size_limit() { lift(); }
  void lift() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

private:
  rlimit old_{};
  void (*old_handler_)(int);
};

} // namespace

TEST_CASE("rotated_file: without rules it is one file, readable only by its owner, and continued") {
  scratch_folder in;
  const auto path = in / "new/folder/audit.json";
  {
    auto f = opened({.path = path});
    const auto a = f.append("one\ntwo\n", start_ns);
    CHECK(a.lines == 2);
    CHECK(a.bytes == 8);
    CHECK(a.error.empty());
    CHECK(f.name() == path);
  }
  opened({.path = path}).append("three\n", start_ns + 1);
  CHECK(harness::file_text(path) == "one\ntwo\nthree\n");
  CHECK(mode_of(path) == 0600);
  CHECK(mode_of(in / "new") == 0700);
  opened({.path = path, .mode = 0640});
  CHECK(mode_of(path) == 0640);
}

TEST_CASE("rotated_file: a large file is replaced before it is too long") {
  scratch_folder in;
  auto f = opened({.path = in / "audit.json", .rotate_bytes = 12});
  f.append("12345\n", start_ns);
  f.append("12345\n", start_ns + 5);
  f.append("a line of its own, which is longer\nx\n", start_ns + 7);
  f.append("y\n", start_ns + 7); // even if the clock has not moved
  using map = std::map<std::string, std::string>;
  CHECK(files_in(in.path()) == map{{name_at(start_ns), "12345\n12345\n"},
                                   {name_at(start_ns + 7), "a line of its own, which is longer\n"},
                                   {name_at(start_ns + 8), "x\ny\n"}});
}

TEST_CASE("rotated_file: an old file is replaced, an empty one is not") {
  scratch_folder in;
  auto f = opened({.path = in / "audit", .rotate_after = 1h});
  const auto hour = std::chrono::nanoseconds(1h).count();
  f.append("", start_ns + 5 * hour);
  f.append("a\n", start_ns + 5 * hour);
  f.append("b\n", start_ns + 6 * hour);
  const auto name = [](std::int64_t ns) { return "audit-" + std::to_string(ns) + ".log"; };
  using map = std::map<std::string, std::string>;
  CHECK(files_in(in.path()) == map{{name(start_ns), "a\n"}, {name(start_ns + 6 * hour), "b\n"}});
}

TEST_CASE("rotated_file: only the newest files are kept, and others' are left alone") {
  scratch_folder in;
  in.write("audit-note.json", "n");
  in.write("audit-1.json.gz", "z");
  in.write("other-1.json", "o");
  auto f = opened({.path = in / "audit.json", .rotate_bytes = 2, .files_max = 2});
  for (int i = 0; i < 5; ++i)
    f.append(std::to_string(i) + "\n", start_ns + i);
  using map = std::map<std::string, std::string>;
  CHECK(files_in(in.path()) == map{{name_at(start_ns + 2), "2\n"},
                                   {name_at(start_ns + 3), "3\n"},
                                   {name_at(start_ns + 4), "4\n"},
                                   {"audit-note.json", "n"},
                                   {"audit-1.json.gz", "z"},
                                   {"other-1.json", "o"}});
  CHECK(f.take_complaint().empty());
}

// A server that crashes at each start must not push out older lines.
TEST_CASE("rotated_file: a restart continues with the newest file, unless it is due") {
  scratch_folder in;
  const rotation_rules rules{.path = in / "audit.json", .rotate_bytes = 100, .rotate_after = 1h, .files_max = 1};
  opened(rules).append("a\n", start_ns);
  for (int i = 0; i < 5; ++i)
    opened(rules, start_ns + 10 + i).append("b\n", start_ns + 10 + i);
  using map = std::map<std::string, std::string>;
  CHECK(files_in(in.path()) == map{{name_at(start_ns), "a\nb\nb\nb\nb\nb\n"}});
  const auto later = start_ns + std::chrono::nanoseconds(2h).count();
  opened(rules, later).append("c\n", later);
  CHECK(files_in(in.path()) == map{{name_at(start_ns), "a\nb\nb\nb\nb\nb\n"}, {name_at(later), "c\n"}});
}

TEST_CASE("rotated_file: a line that was cut off by a crash is ended first") {
  scratch_folder in;
  const auto path = in.write("audit.json", "whole\nhal");
  auto f = opened({.path = path});
  CHECK(f.append("next\n", start_ns).lines == 1);
  CHECK(harness::file_text(path) == "whole\nhal\nnext\n");
}

TEST_CASE("rotated_file: when there is no room, whole lines stay, and no part of another") {
  scratch_folder in;
  const auto path = in / "audit.json";
  auto f = opened({.path = path});
  f.append("first\n", start_ns);
  rotated_file::appended a, b;
  {
    file_size_limit disk(14);
    a = f.append("second\nthird\n", start_ns);
    b = f.append("fourth\n", start_ns);
  }
  CHECK(a.lines == 1);
  CHECK(a.bytes == 7);
  CHECK(a.error == "cannot write " + path + ": File too large");
  CHECK(b.lines == 0);
  CHECK(b.bytes == 0);
  CHECK_FALSE(b.error.empty());
  const auto c = f.append("fifth\n", start_ns);
  CHECK(c.lines == 1);
  CHECK(c.error.empty());
  CHECK(harness::file_text(path) == "first\nsecond\nfifth\n");
}

TEST_CASE("rotated_file: a new file that cannot be begun costs no line") {
  scratch_folder in;
  auto f = opened({.path = in / "audit.json", .rotate_bytes = 2});
  f.append("a\n", start_ns);
  REQUIRE(std::filesystem::create_directory(in / name_at(start_ns + 1)));
  CHECK(f.append("b\n", start_ns + 1).lines == 1);
  CHECK(f.take_complaint() == "cannot open " + (in / name_at(start_ns + 1)) + ": File exists");
  CHECK(f.take_complaint().empty());
  CHECK(harness::file_text(in / name_at(start_ns)) == "a\nb\n");
}

TEST_CASE("rotated_file: a file that was moved or removed is created again") {
  scratch_folder in;
  const auto path = in / "audit.json";
  auto f = opened({.path = path});
  f.append("a\n", start_ns);
  std::filesystem::rename(path, in / "moved");
  f.append("b\n", start_ns);
  std::filesystem::remove(path);
  f.append("c\n", start_ns);
  using map = std::map<std::string, std::string>;
  CHECK(files_in(in.path()) == map{{"moved", "a\n"}, {"audit.json", "c\n"}});
}

TEST_CASE("rotated_file: a device never rotates, and its errors are reported") {
  auto full = opened({.path = "/dev/full", .rotate_bytes = 1, .files_max = 1});
  const auto a = full.append("a\n", start_ns);
  CHECK(a.lines == 0);
  CHECK(a.error == "cannot write /dev/full: No space left on device");
  auto hole = opened({.path = "/dev/null", .rotate_bytes = 1});
  CHECK(hole.append(std::string(10000, 'x') + "\n", start_ns).bytes == 10001);
}

TEST_CASE("rotated_file: a file that cannot be opened is reported at once") {
  scratch_folder in;
  in.write("plain", "");
  CHECK_FALSE(rotated_file::open({.path = in / "plain/audit.json"}, start_ns));
  CHECK_FALSE(rotated_file::open({.path = in.path().string()}, start_ns));
  REQUIRE(::mkfifo((in / "pipe").c_str(), 0600) == 0); // opening it without a reader would block
  CHECK_FALSE(rotated_file::open({.path = in / "pipe"}, start_ns));
}
