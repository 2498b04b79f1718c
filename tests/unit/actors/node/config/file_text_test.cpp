// Files written by people: their contents, and the errors when they cannot be read.

#include "actors/node/config/file_text.hpp"
#include "tests/harness/scratch.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

using namespace belay;
using namespace belay::actors;

TEST_CASE("a file is read whole, up to a limit", "[file_text]") {
  const harness::scratch_folder folder;
  const auto path = (folder.path() / "f").string();
  const std::string bytes = std::string(100'000, 'x') + std::string("\0\n\xff", 3);
  std::ofstream(path, std::ios::binary) << bytes;
  CHECK(*read_file_text(path) == bytes);
  CHECK(*read_file_text(path, bytes.size()) == bytes);
  CHECK(read_file_text(path, bytes.size() - 1).error() == path + ": more than 100002 bytes");
  CHECK(**read_file_text_if_there(path) == bytes);
  std::ofstream(path, std::ios::trunc).close();
  CHECK(read_file_text(path)->empty());
  // A file without end, and without a size known in advance.
  CHECK(read_file_text("/dev/zero", 1000).error() == "/dev/zero: more than 1000 bytes");
}

TEST_CASE("a pipe is read to its end: configuration may come from another program", "[file_text]") {
  const harness::scratch_folder folder;
  const auto path = (folder.path() / "pipe").string();
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  std::thread writer([&] {
    std::ofstream out(path);
    out << "one " << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    out << "two";
  });
  const auto text = read_file_text(path);
  writer.join();
  CHECK(*text == "one two");
}

TEST_CASE("errors in a file are reported with its name", "[file_text]") {
  const harness::scratch_folder folder;
  const auto dir = folder.path().string();
  CHECK(read_file_text(dir + "/none").error() == "open " + dir + "/none: no such file or directory");
  const auto none = read_file_text_if_there(dir + "/none");
  REQUIRE(none.ok());
  CHECK_FALSE(none->has_value());
  CHECK(read_file_text(dir).error() == "read " + dir + ": is a directory");
  CHECK(read_file_text_if_there("/dev/null/x").error() == "open /dev/null/x: Not a directory");
  if (::geteuid() == 0)
    return; // root, who ignores permissions
  std::ofstream(dir + "/closed") << "x";
  REQUIRE(::chmod((dir + "/closed").c_str(), 0) == 0);
  CHECK(read_file_text(dir + "/closed").error() == "open " + dir + "/closed: permission denied");
  CHECK_FALSE(read_file_text_if_there(dir + "/closed").ok()); // it exists
}
