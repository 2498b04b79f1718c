// The cache of a prefix under faults: it was the state of a server, and is not older than it says.
#include "tests/unit/client/crew.hpp"

#include <belay/near_cache.hpp>

#include <memory>
#include <string>
#include <vector>

using namespace belay;
using namespace belay::client_tests;

namespace {

/// A number in a key is incremented while servers fail. In the end the cache has the last one.
finding run_cache(dialect speaks, std::uint64_t seed) {
  virtual_time::fault_rates rates;
  rates.request_lost = 50'000;
  rates.answer_lost = 100'000;
  rates.latency_max = milliseconds(400);
  virtual_cluster c(speaks, seed, rates);
  near_cache_options options;
  options.confirm_every = milliseconds(2000);
  options.stale_if_error = milliseconds(8000);
  near_cache cache(c.client, "conf/", options);
  std::vector<instant> written; // the time of each number
  finding wrong;
  auto look = [&] {
    auto table = cache.table();
    if (!table || !wrong.empty())
      return !wrong.empty();
    const auto* row = table->find("conf/n");
    auto next = row ? std::stoull(row->value) + 1 : 0; // that number had not been written yet
    if (next >= written.size())
      return false;
    if (written[next] < cache.confirmed())
      wrong = "number " + std::to_string(next) + " was there when it is said to have been looked at";
    else if (c.time.now() - written[next] > options.stale_if_error)
      wrong = "something is shown that is too old";
    return !wrong.empty();
  };
  cache.start();
  auto& chance = c.time.chance();
  for (int i = 0; i < 150 && wrong.empty(); ++i) {
    c.server.put("conf/n", std::to_string(written.size()));
    written.push_back(c.time.now());
    auto end = c.time.now() + milliseconds(50 + chance.draw(800));
    c.time.at(end, [] {});
    c.time.run_until(end, look);
    if (i % 10 == 0) {
      c.server.silent = chance.chance(250'000);
      c.server.leaderless = chance.chance(250'000);
    }
  }
  c.server.silent = c.server.leaderless = false;
  c.time.heal();
  auto end = c.time.now() + seconds(30);
  c.time.at(end, [] {});
  c.time.run_until(end, look);
  auto table = cache.table();
  const auto* row = table ? table->find("conf/n") : nullptr;
  if (wrong.empty() && (!row || row->value != std::to_string(written.size() - 1)))
    wrong = "the last number is not shown after the faults";
  return wrong;
}

} // namespace

TEST_CASE("near caches hold their guarantees under faults", "[client][faults]") {
  for (auto speaks : {dialect::belay, dialect::consul})
    check_seeds(20, [=](std::uint64_t seed) { return run_cache(speaks, seed); });
}

TEST_CASE("known bugs of near caches are found by seeds", "[client][faults]") {
  auto cache = [](std::uint64_t seed) { return run_cache(dialect::belay, seed); };
  check_that_found({{"shown_for_ever", cache}, {"confirmed_when_answered", cache}, {"cache_gives_up", cache}});
}
