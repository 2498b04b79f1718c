// Vivaldi as in Serf: the requirements of its client_test.go and performance_test.go.

#include "protocol/coordinates/estimator.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

using namespace belay;
using namespace belay::coordinates;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;

namespace {

using round_trips = std::function<nanoseconds(std::size_t, std::size_t)>;

struct errors {
  double mean = 0, worst = 0;
};

/// Serf's Simulate() and Evaluate(): in each cycle every node measures its distance to a random
/// one. How large are the errors of all estimates in the end, relative to the truth?
errors after_measuring(std::size_t nodes, const round_trips& truth, std::uint64_t seed, int cycles = 1000) {
  std::vector<estimator> all;
  for (std::size_t i = 0; i < nodes; ++i)
    all.emplace_back(seed * 1000 + i);
  seeded_random chance(seed);
  for (int cycle = 0; cycle < cycles; ++cycle)
    for (std::size_t i = 0; i < nodes; ++i)
      if (const auto j = chance.below(nodes); j != i)
        CHECK(all[i].measured(node_id{j + 1}, all[j].own(), truth(i, j)));
  errors e;
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < nodes; ++i)
    for (std::size_t j = i + 1; j < nodes; ++j, ++pairs) {
      const auto received = static_cast<double>(distance(all[i].own(), all[j].own()).count());
      const auto real = static_cast<double>(truth(i, j).count());
      const auto wrong = std::abs(received - real) / real;
      e.mean += wrong;
      e.worst = std::max(e.worst, wrong);
    }
  e.mean /= static_cast<double>(pairs);
  return e;
}

} // namespace

TEST_CASE("a node that is farther than expected moves away") {
  estimator e(1);
  coordinate other;
  other.vec[2] = 0.001;
  CHECK(e.measured(node_id{2}, other, 2ms));
  CHECK(e.own().vec[2] < 0);
  CHECK(e.own().error < error_max);
}

TEST_CASE("a single late round trip has no effect") {
  estimator e(1);
  const node_id alice{1}, bob{2};
  CHECK(e.filtered(alice, 0.201) == 0.201);
  CHECK(e.filtered(alice, 0.200) == 0.201);
  CHECK(e.filtered(alice, 0.207) == 0.201);
  CHECK(e.filtered(alice, 1.9) == 0.207); // the glitch
  CHECK(e.filtered(alice, 0.203) == 0.207);
  CHECK(e.filtered(alice, 0.199) == 0.203);
  CHECK(e.filtered(alice, 0.211) == 0.203);
  CHECK(e.filtered(bob, 0.310) == 0.310);
  e.forget(alice);
  CHECK(e.filtered(alice, 0.888) == 0.888);
}

TEST_CASE("impossible coordinates are ignored") {
  estimator e(1);
  const auto before = e.own();
  coordinate other, bad;
  bad.vec[3] = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(e.measured(node_id{2}, other, -1ns));
  CHECK_FALSE(e.measured(node_id{2}, other, round_trip_max + 1ns));
  CHECK_FALSE(e.measured(node_id{2}, bad, 1ms));
  CHECK(e.own() == before);
  CHECK(e.measured(node_id{2}, other, 0ns)); // clocks can stop
  CHECK(is_valid(e.own()));
}

// A lying peer must not leave this server without a coordinate.
TEST_CASE("coordinates that overflow start over at the origin") {
  estimator e(1);
  coordinate huge;
  huge.vec = {1e308, -1e308, 1e308};
  huge.height = 1e308;
  huge.error = 0;
  for (int i = 0; i < 50; ++i) {
    e.measured(node_id{2}, huge, 1ms);
    CHECK(is_valid(e.own()));
  }
}

// The bounds are those of Serf's performance_test.go plus a third, since the random numbers differ.
TEST_CASE("points on a line are found, whatever the random numbers are") {
  const auto seed = GENERATE(1u, 2u, 3u, 4u);
  const auto e = after_measuring(
      10, [](std::size_t i, std::size_t j) { return nanoseconds(10ms) * (i > j ? i - j : j - i); }, seed);
  CHECK(e.mean < 0.0018 * 4 / 3);
  CHECK(e.worst < 0.0092 * 4 / 3);
}

TEST_CASE("two coordinates with 10 ms between them are distinguished") {
  const auto seed = GENERATE(1u, 2u, 3u, 4u);
  const auto e = after_measuring(
      25, [](std::size_t i, std::size_t j) { return (i <= 12) == (j <= 12) ? nanoseconds(1ms) : nanoseconds(11ms); },
      seed);
  CHECK(e.mean < 0.000062 * 4 / 3);
  CHECK(e.worst < 0.00048 * 4 / 3);
}
