// Actors end at any moment while requests and responses are lost. No actor may believe that it
// holds what another one holds, nothing may stay behind, and the remaining actors get it.
#include "tests/client/caf/virtual_actors.hpp"

#include <algorithm>

using namespace belay::client_tests;
using belay::milliseconds;
namespace ask = belay::caf;

namespace {

struct run_result {
  int grants = 0;
  int deaths = 0;
  bool two_at_once = false;
  bool left_over = false;
  bool stuck = false;
  bool found() const { return two_at_once || left_over || stuck; }
};

run_result run_of(std::uint64_t seed) {
  belay::virtual_time::fault_rates rates;
  belay::virtual_time::tape chance(seed);
  rates.request_lost = chance.draw(2) ? 20'000 : 0;
  rates.answer_lost = chance.draw(2) ? 20'000 : 0;
  virtual_actors v(seed, rates);
  belay::client_options options;
  options.session.lock_delay = milliseconds(0);
  std::vector<ask::coordinator_actor> coordinators = {v.coordinator({}, options), v.coordinator({}, options)};

  run_result out;
  std::vector<virtual_actors::who> alive;
  auto holding = [&] { return std::count_if(alive.begin(), alive.end(), [](const auto& w) { return w->holds(); }); };
  ask::lock wanted;
  wanted.key = "x";
  wanted.within = minutes(2);
  for (int step = 0; step < 60; ++step) {
    if (alive.size() < 5) {
      alive.push_back(v.spawn(coordinators[chance.draw(2)]));
      v.post(alive.back(), wanted);
    }
    v.run_until(milliseconds(1 + chance.draw(400)), [&] {
      out.two_at_once = out.two_at_once || holding() > 1;
      return out.two_at_once;
    });
    if (chance.draw(2) == 0 && !alive.empty()) {
      auto which = alive.begin() + static_cast<std::ptrdiff_t>(chance.draw(alive.size()));
      out.grants += (*which)->holds() ? 1 : 0;
      ++out.deaths;
      v.end(*which);
      v.run();
      alive.erase(which);
    }
  }
  v.time.heal();
  auto last = v.spawn(coordinators[0]);
  v.post(last, wanted);
  for (const auto& w : alive)
    v.end(w);
  alive.clear();
  out.stuck = !v.run_until(minutes(1), [&] { return last->holds(); });
  v.end(last);
  v.pass(seconds(10));
  out.left_over = !v.server.holders("x").empty() || v.server.waiting("x") > 0;
  return out;
}

int found_within(std::string_view mutant, int seeds) {
  belay::detail::active_client_mutant = mutant;
  int seed = 1;
  while (seed <= seeds && !run_of(static_cast<std::uint64_t>(seed)).found())
    ++seed;
  belay::detail::active_client_mutant = {};
  return seed <= seeds ? seed : 0;
}

} // namespace

TEST_CASE("caf: actors end at any moment, and answers are lost", "[caf]") {
  int grants = 0;
  int deaths = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    auto v = run_of(seed);
    CHECK_FALSE(v.two_at_once);
    CHECK_FALSE(v.left_over);
    CHECK_FALSE(v.stuck);
    grants += v.grants;
    deaths += v.deaths;
  }
  CHECK(grants > 20);
  CHECK(deaths > 200);
}

TEST_CASE("caf: known bugs of the coordinator are found", "[caf]") {
  for (auto mutant : {"caf_end_ignored", "caf_watch_dropped", "caf_watch_uncounted"}) {
    INFO(mutant);
    CHECK(found_within(mutant, 20) > 0);
  }
}
