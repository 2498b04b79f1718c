// Wall clocks of peers, and the time with which a leader stamps entries.
#include "protocol/raft/cluster_clock.hpp"
#include "protocol/raft/peer_clocks.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::raft;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr node_id a{1}, b{2};
constexpr std::uint64_t wall_base = 1'795'000'000'000;

/// Two servers and the link between them. Their monotonic clocks are unrelated.
struct pair {
  milliseconds skew{0}, there{0}, back{0};
  local_time a_now{seconds(1000)}, b_now{seconds(7)};
  peer_clocks of_a{}, of_b{};

  void pass(milliseconds d) {
    a_now += d;
    b_now += d;
  }
  cluster_time wall(milliseconds ahead) const {
    return cluster_time{wall_base +
                        static_cast<std::uint64_t>((std::chrono::duration_cast<milliseconds>(a_now) + ahead).count())};
  }
  /// What a learns about b from one exchange, in which b waits before it responds.
  std::optional<clock_skew> exchange(milliseconds b_waits) {
    const auto response = of_a.sample_for(b, wall(milliseconds(0)), a_now);
    pass(there);
    (void)of_b.received(a, response, wall(skew), b_now);
    pass(b_waits);
    const auto answer = of_b.sample_for(a, wall(skew), b_now);
    pass(back);
    return of_a.received(b, answer, wall(milliseconds(0)), a_now);
  }
};

} // namespace

TEST_CASE("the skew of a peer's wall clock is measured to within half a round trip") {
  const auto skew = GENERATE(milliseconds(0), milliseconds(700), milliseconds(-20'000), milliseconds(31'536'000'000));
  const auto there = GENERATE(milliseconds(0), milliseconds(3), milliseconds(250));
  const auto back = GENERATE(milliseconds(0), milliseconds(40));
  pair p{skew, there, back};
  const auto found = p.exchange(milliseconds(4321));
  REQUIRE(found);
  CHECK(std::chrono::abs(found->skew - skew) <= found->error + milliseconds(1));
  CHECK(found->error <= (there + back) / 2 + milliseconds(1));
  CHECK(std::chrono::abs(p.of_a.largest() - std::chrono::abs(skew)) <= found->error + milliseconds(1));
  p.of_a.lost(b);
  CHECK(p.of_a.largest() == milliseconds(0));
}

TEST_CASE("clock samples that cannot be responses measure nothing") {
  peer_clocks c;
  const local_time now{seconds(100)};
  const auto now_ns = static_cast<std::uint64_t>(now.count());
  const cluster_time wall{wall_base};
  const auto received = [&](const clock_sample& m) { return c.received(b, m, wall, now).has_value(); };
  CHECK_FALSE(received({5, wall, 0, 0}));            // it has not heard from this server yet
  CHECK_FALSE(received({5, wall, now_ns + 1, 0}));   // from the future: a response to the previous process
  CHECK_FALSE(received({5, wall, now_ns - 10, 11})); // held for longer than the process runs
  CHECK_FALSE(received({5, wall, 1, UINT64_MAX}));
  CHECK_FALSE(received({5, wall, now_ns - 3'000'000'000, 0})); // three seconds in flight
  CHECK_FALSE(received({5, cluster_time{UINT64_MAX}, now_ns - 10, 0}));
  CHECK(c.largest() == milliseconds(0));
  CHECK(received({5, wall, now_ns - 10, 0}));
}

TEST_CASE("cluster time continues from the last entry's with the leader's monotonic clock") {
  cluster_clock c;
  CHECK(c.term().is_zero());
  c.begin(term_id{4}, cluster_time{1'000'000}, cluster_time{wall_base}, seconds(50));
  CHECK(c.term() == term_id{4});
  CHECK(c.at(seconds(50)) == cluster_time{1'000'000});
  CHECK(c.at(seconds(49)) == cluster_time{1'000'000}); // clocks do not go back; if they did, time would stop
  CHECK(c.at(seconds(65)) == cluster_time{1'015'000});
  c.begin(term_id{5}, cluster_time{0}, cluster_time{wall_base}, seconds(70)); // a log without a command
  CHECK(c.at(seconds(71)) == cluster_time{wall_base + 1000});
}
