// Memory goes back to the system when it was not needed for a while: once, and not what is needed again.

#include "actors/node/free_memory.hpp"

#include <catch2/catch.hpp>

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

TEST_CASE("memory that was freed is free until it is given back") {
  const auto before = free_memory();
  {
    std::vector<std::unique_ptr<std::vector<char>>> pieces;
    for (int i = 0; i < 64 * 1024; ++i)
      pieces.push_back(std::make_unique<std::vector<char>>(1024));
  }
  const auto freed = free_memory();
  if (freed == 0)
    return; // those of the sanitizers do not tell
  CHECK(freed >= before + (32u << 20));
  give_back_memory(freed);
  CHECK(free_memory() < freed / 2);
}
