// Memory that was not needed for a while is returned to the system: once.

#include "actors/node/free_memory.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <fstream>
#include <memory>
#include <vector>

using namespace belay::actors;

TEST_CASE("unused_memory: memory that was free at eight samples is returned, once") {
  constexpr std::size_t mib = 1 << 20;
  unused_memory m;
  const auto due_after = [&m](std::initializer_list<std::size_t> looks) {
    REQUIRE(looks.size() == unused_memory::looks);
    std::size_t due = 0;
    for (const auto& free : looks) {
      CHECK(due == 0); // not before the last
      due = m.due(free * mib);
    }
    return due;
  };
  CHECK(due_after({100, 100, 90, 90, 120, 120, 120, 130}) == 90 * mib);
  CHECK(due_after({40, 40, 40, 40, 40, 40, 40, 40}) == 40 * mib);
  CHECK(due_after({200, 200, 200, 0, 200, 200, 200, 200}) == 0); // needed for a moment
  CHECK(due_after({200, 200, 200, 200, 200, 200, 200, 30}) == 30 * mib);
  CHECK(due_after({7, 7, 7, 7, 7, 7, 7, 7}) == 0); // too little
  CHECK(due_after({8, 8, 8, 8, 8, 8, 8, 8}) == 8 * mib);
}

namespace {

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

} // namespace

TEST_CASE("freed memory stays free until it is returned") {
  constexpr std::size_t piece = 1024, pieces = 64 * 1024;
  using text = std::vector<char>;
  const auto before = free_memory();
  std::vector<std::unique_ptr<text>> list;
  for (std::size_t i = 0; i < pieces; ++i)
    list.push_back(std::make_unique<text>(piece, 'x'));
  const auto behind = std::make_unique<text>(piece); // the C library itself returns what is at the end
  list.clear();
  const auto freed = free_memory();
  if (freed == 0)
    return; // the sanitizers' allocators report nothing
  CHECK(freed >= before + piece * pieces / 2);
  const auto resident = resident_bytes();
  give_back_memory(freed);
  CHECK(resident_bytes() + piece * pieces / 2 <= resident);
}
