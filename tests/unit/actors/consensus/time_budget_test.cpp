#include "actors/time_budget.hpp"

#include <catch2/catch.hpp>

using belay::actors::time_budget;
using namespace std::chrono_literals;

TEST_CASE("time that was spent has to be earned first") {
  time_budget p;
  CHECK_FALSE(p.overdrawn()); // the first one may start
  p.spend(3ms);
  CHECK(p.overdrawn());
  p.earn(2ms);
  CHECK(p.overdrawn());
  p.earn(1ms);
  CHECK_FALSE(p.overdrawn());
}

TEST_CASE("a long silence buys no long burst") {
  time_budget p;
  p.earn(1h);
  p.earn(1h);
  p.spend(time_budget::saved_max);
  CHECK_FALSE(p.overdrawn());
  p.spend(1ns);
  CHECK(p.overdrawn());
}
