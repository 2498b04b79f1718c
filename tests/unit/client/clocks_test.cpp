// Clocks that go back, run at a wrong rate, are set or far off, and the guard's findings.
#include "tests/unit/client/crew.hpp"

#include <belay/clock_guard.hpp>

#include <cstdlib>

using namespace belay;
using namespace belay::client_tests;

namespace {

using std::chrono::nanoseconds;
using std::chrono::system_clock;

/// A process whose clock of sessions can be set back, and whose wall clock can be set or drift.
class odd_clocks final : public virtual_time::process {
public:
  odd_clocks(virtual_cluster& c, std::int64_t ppm) : process(c.time, c.server, ppm), cluster_(c) {}

  instant now() override { return process::now() - back; }
  system_clock::time_point wall() const {
    return cluster_.server.wall() + std::chrono::duration_cast<system_clock::duration>(ahead());
  }
  nanoseconds ahead() const { return set_ + (cluster_.time.now() - since_) / 1000 * fast_permille_; }
  void set_wall(nanoseconds by) { set_ += by; }
  void run_wall(std::int64_t permille_fast) {
    set_ = ahead();
    since_ = cluster_.time.now();
    fast_permille_ = permille_fast;
  }

  nanoseconds back{0};

private:
  virtual_cluster& cluster_;
  nanoseconds set_{0};
  instant since_{};
  std::int64_t fast_permille_ = 0;
};

/// Disturbs the clocks for one round.
/// @param passed time since the last round @returns the mildest trust that the next check may
/// give
clock_trust disturb(odd_clocks& w, virtual_time::tape& chance, nanoseconds passed) {
  switch (chance.draw(8)) {
  case 0:
    w.back += passed + seconds(1 + chance.draw(5));
    return clock_trust::distrusted;
  case 1:
    w.set_wall(chance.draw(2) ? hours(1) : -hours(1));
    return clock_trust::distrusted;
  case 2:
    w.set_wall(chance.draw(2) ? seconds(5) : -seconds(5));
    return clock_trust::noticed;
  default:
    return clock_trust::trusted;
  }
}

finding run_clocks(std::uint64_t seed) {
  virtual_time::fault_rates rates;
  rates.latency_max = milliseconds(400);
  virtual_cluster c(dialect::belay, seed, rates);
  auto& chance = c.time.chance();
  odd_clocks w(c, static_cast<std::int64_t>(chance.draw(4000)) - 2000);
  clock_guard_options o;
  o.wall = [&w] { return w.wall(); };
  clock_guard guard(w, o);
  guard.look();
  constexpr nanoseconds rounded = seconds(1) + 2 * milliseconds(400) + milliseconds(1);
  bool far = false; // at the last sample
  for (int round = 0; round < 60; ++round) {
    bool runs_wrong = chance.draw(6) == 0;
    w.run_wall(runs_wrong ? 20 : 0);
    nanoseconds length = seconds(5 + chance.draw(55));
    c.pass(length);
    auto trust_expected =
        std::max(disturb(w, chance, length), runs_wrong ? clock_trust::noticed : clock_trust::trusted);
    w.run_wall(0);
    bool asks = chance.draw(2) == 0;
    if (asks) {
      if (!c.run(guard.sample(c.within(minutes(1)))))
        return "not sampled";
      nanoseconds off = std::chrono::abs(w.ahead());
      nanoseconds measured = std::chrono::abs(nanoseconds(guard.offset()));
      if (measured > off)
        return "a larger offset is told than there is";
      if (measured + rounded < off)
        return "a smaller offset is told than is certain";
      far = off > o.distrust_offset + rounded;
    } else {
      guard.look();
    }
    if (far)
      trust_expected = clock_trust::distrusted;
    if (guard.trust() < trust_expected)
      return "clocks that are wrong are not noticed, or trusted";
    bool all_right = trust_expected == clock_trust::trusted && asks && std::chrono::abs(w.ahead()) < o.notice_offset;
    if (all_right && guard.trust() != clock_trust::trusted)
      return "clocks that are right are not trusted: " + guard.reason();
  }
  return {};
}

} // namespace

TEST_CASE("an offset is distrusted until a sample finds a smaller one", "[client]") {
  virtual_cluster c;
  odd_clocks w(c, 0);
  clock_guard_options o;
  o.wall = [&w] { return w.wall(); };
  clock_guard guard(w, o);
  w.set_wall(hours(1));
  auto sampled = c.run(guard.sample(c.within(seconds(5))));
  REQUIRE(sampled);
  CHECK(*sampled == clock_trust::distrusted);
  CHECK(guard.offset() > minutes(59));
  c.pass(seconds(10));
  CHECK(guard.look() == clock_trust::distrusted);
  CHECK(guard.reason() == "the wall clock is far from that of the servers");
  w.set_wall(-hours(1));
  CHECK(guard.look() == clock_trust::distrusted);
  c.pass(seconds(10));
  sampled = c.run(guard.sample(c.within(seconds(5))));
  REQUIRE(sampled);
  CHECK(*sampled == clock_trust::trusted);
  CHECK(guard.offset() == milliseconds(0));
  c.server.silent = true;
  CHECK(c.run(guard.sample(c.within(seconds(5)))).refused());
  CHECK(guard.trust() == clock_trust::trusted);
}

TEST_CASE("clocks are classified by what was done to them", "[client][faults]") {
  check_seeds(100, run_clocks);
}

TEST_CASE("known bugs of the guard of clocks are found by seeds", "[client][faults]") {
  check_that_found({{"clock_back_ignored", run_clocks},
                    {"rate_unchecked", run_clocks},
                    {"offset_forgotten", run_clocks},
                    {"date_taken_as_exact", run_clocks}});
}
