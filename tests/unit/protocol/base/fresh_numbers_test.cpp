#include "protocol/base/fresh_numbers.hpp"

#include <catch2/catch.hpp>

#include <set>

using namespace belay;

// A response to the previous process must not be taken for a new one (docs/internals/pitfalls.md R24).
TEST_CASE("processes do not number their questions alike") {
  constexpr int processes = 50, questions = 1000;
  std::set<std::uint64_t> all;
  for (std::uint64_t seed = 0; seed < processes; ++seed) {
    fresh_numbers numbers(seed);
    for (int i = 0; i < questions; ++i)
      all.insert(numbers.next());
  }
  CHECK(all.size() == static_cast<std::size_t>(processes) * questions);
  CHECK(all.count(0) == 0);
  CHECK(*all.rbegin() <= fresh_numbers::mask);
}
