// Distances and forces: the numbers are those of Serf's own tests (hashicorp/serf,
// coordinate/coordinate_test.go), whose vectors of three components are padded with zeros here.

#include "protocol/coordinates/coordinate.hpp"

#include <catch2/catch.hpp>

#include <limits>

using namespace belay::coordinates;
using std::chrono::nanoseconds;

namespace {

coordinate at(vector v) {
  coordinate c;
  c.vec = v;
  c.height = 0;
  return c;
}

double seconds(nanoseconds d) {
  return std::chrono::duration<double>(d).count();
}

void check_near(const vector& got, const vector& wanted) {
  for (std::size_t i = 0; i < dimensions; ++i)
    CHECK(got[i] == Approx(wanted[i]).margin(1e-12));
}

constexpr vector nowhere{};

} // namespace

TEST_CASE("a new coordinate is the origin, as Serf's") {
  const coordinate c;
  CHECK(c.vec == vector{});
  CHECK(c.error == 1.5);
  CHECK(c.adjustment == 0);
  CHECK(c.height == 10.0e-6);
}

TEST_CASE("distances of Serf's tests") {
  auto a = at({-0.5, 1.3, 2.4}), b = at({1.2, -2.3, 3.4});
  CHECK(seconds(distance(a, a)) == 0);
  CHECK(distance(a, b) == distance(b, a));
  CHECK(seconds(distance(a, b)) == Approx(4.104875150354758).margin(1e-9));

  SECTION("a negative adjustment is left out if nothing would remain") {
    a.adjustment = -1.0e6;
    CHECK(seconds(distance(a, b)) == Approx(4.104875150354758).margin(1e-9));
  }
  SECTION("adjustments are added") {
    a.adjustment = 0.1;
    b.adjustment = 0.2;
    CHECK(seconds(distance(a, b)) == Approx(4.104875150354758 + 0.3).margin(1e-9));
  }
  SECTION("and heights") {
    a.height = 0.7;
    b.height = 0.1;
    CHECK(seconds(distance(a, b)) == Approx(4.104875150354758 + 0.8).margin(1e-9));
  }
  SECTION("the raw distance ignores adjustments") {
    a.adjustment = 1.0e6;
    CHECK(raw_distance(a, b) == Approx(4.104875150354758));
  }
}

TEST_CASE("forces of Serf's tests") {
  const auto origin = at({});
  const auto above = at({0, 0, 2.9});
  const auto down = pushed(origin, 5.3, above, nowhere);
  check_near(down.vec, {0, 0, -5.3});
  const auto right = at({3.4, 0, -5.3});
  check_near(pushed(down, 2.0, right, nowhere).vec, {-2.0, 0, -5.3});

  SECTION("two nodes at the same point move apart, in any direction") {
    const auto away = pushed(origin, 1.0, origin, {0.1, -0.3, 0.2, 0, 0, 0, 0, 0.4});
    CHECK(raw_distance(away, origin) == Approx(1.0 + away.height));
    CHECK(pushed(origin, 1.0, origin, nowhere).vec == vector{1.0});
  }
  SECTION("the height grows with the force, and falls no lower than it may") {
    coordinate ground;
    coordinate far = ground;
    far.vec = {0, 0, 2.9};
    const auto up = pushed(ground, 5.3, far, nowhere);
    check_near(up.vec, {0, 0, -5.3});
    CHECK(up.height == Approx(1.0e-5 + 5.3 * 2.0e-5 / 2.9));
    CHECK(pushed(ground, -5.3, far, nowhere).height == height_min);
  }
}

// An unverified peer may send any bits.
TEST_CASE("coordinates that are not numbers are detected, and huge ones still have a distance") {
  coordinate c;
  CHECK(is_valid(c));
  for (const auto bad : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                         std::numeric_limits<double>::quiet_NaN()}) {
    for (std::size_t i = 0; i < dimensions; ++i) {
      auto wrong = c;
      wrong.vec[i] = bad;
      CHECK_FALSE(is_valid(wrong));
    }
    for (const auto part : {&coordinate::error, &coordinate::adjustment, &coordinate::height}) {
      auto wrong = c;
      wrong.*part = bad;
      CHECK_FALSE(is_valid(wrong));
    }
  }
  auto huge = c;
  huge.vec = {1e300, -1e300};
  huge.height = 1e308;
  auto other = huge;
  other.adjustment = -1e308;
  CHECK(distance(huge, other) > std::chrono::hours(24 * 365));
  huge.height = -1e308;
  CHECK(distance(huge, huge) != nanoseconds(0));
}
