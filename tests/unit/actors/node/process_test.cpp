#include "actors/node/process.hpp"

#include <catch2/catch.hpp>

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

using belay::actors::temporary_directory;

namespace {

bool in_memory(const std::string& path) {
  struct statfs facts {};
  return ::statfs(path.c_str(), &facts) == 0 && facts.f_type == TMPFS_MAGIC;
}

} // namespace

// `belay agent -dev` keeps everything in memory. It must also run without such a folder.
TEST_CASE("the data of -dev is in memory, and removed at the end", "[process]") {
  std::string kept;
  {
    temporary_directory here(true);
    kept = here.path();
    REQUIRE(std::filesystem::is_directory(kept));
    struct statfs room {};
    if (::statfs("/dev/shm", &room) == 0 && room.f_type == TMPFS_MAGIC && room.f_bavail * room.f_bsize > (300u << 20))
      CHECK(in_memory(kept));
  }
  CHECK(!std::filesystem::exists(kept));
  CHECK(temporary_directory(false).path().empty());
  temporary_directory elsewhere(true, "/no/such/folder");
  CHECK(elsewhere.path().starts_with("/tmp/belay-dev-"));
}

// A -dev server was killed with -9: its files would stay in memory. Another one still runs.
TEST_CASE("leftovers of a killed -dev server are removed, those of a running one are not", "[process]") {
  temporary_directory running(true);
  const auto folder = std::filesystem::path(running.path()).parent_path().string();
  auto left = folder + "/belay-dev-XXXXXX";
  REQUIRE(mkdtemp(left.data()) != nullptr);
  std::filesystem::create_directory(left + "/raft");
  temporary_directory next(true);
  CHECK(!std::filesystem::exists(left));
  CHECK(std::filesystem::exists(running.path()));
  CHECK(next.path() != running.path());
}
