// Memory goes back to the system when it was not needed for a while: once, and not what is needed again.

#include "actors/node/free_memory.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <fstream>
#include <memory>
#include <vector>

using namespace belay::actors;

TEST_CASE("unused_memory: given back when it was free twice, and once") {
  constexpr std::size_t mib = 1 << 20;
  struct row {
    const char* what;
    std::size_t free, due;
  };
  const row rows[] = {
      {"much is free at the first look", 100 * mib, 0},
      {"it is free still", 90 * mib, 90 * mib},
      {"it went back", 1 * mib, 0},
      {"it was needed for a moment", 200 * mib, 0},
      {"and is needed again, but for a part", 30 * mib, 30 * mib},
      {"other memory is free now", 30 * mib, 0},
      {"and still is", 30 * mib, 30 * mib},
      {"little", 7 * mib, 0},
      {"is worth nothing", 7 * mib, 0},
  };
  unused_memory m;
  for (const auto& r : rows) {
    INFO(r.what);
    CHECK(m.due(r.free) == r.due);
  }
}

namespace {

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

} // namespace

TEST_CASE("memory that was freed is free until it is given back") {
  constexpr std::size_t piece = 1024, pieces = 64 * 1024;
  using text = std::vector<char>;
  const auto before = free_memory();
  std::vector<std::unique_ptr<text>> list;
  for (std::size_t i = 0; i < pieces; ++i)
    list.push_back(std::make_unique<text>(piece, 'x'));
  const auto behind = std::make_unique<text>(piece); // what is at the end the C library gives back by itself
  list.clear();
  const auto freed = free_memory();
  if (freed == 0)
    return; // those of the sanitizers do not tell
  CHECK(freed >= before + piece * pieces / 2);
  const auto resident = resident_bytes();
  give_back_memory(freed);
  CHECK(resident_bytes() + piece * pieces / 2 <= resident);
}
