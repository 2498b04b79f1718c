// A partition of 90 s: how soon do the servers agree again, and is a lock lost that was renewed all
// the time? docs/internals/scenes.md has the figures, which `test_actors "[scenes]" -s` prints.

#include "tests/actors/cluster_fixture.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using http::consistency;

namespace {

constexpr seconds ttl_of_all{10};
constexpr int locks = 40;

state::command lock_of(int i, const std::string& session) {
  state::kv_op o;
  o.verb = state::kv_verb::lock;
  o.key = "lock/" + std::to_string(i);
  o.session = session;
  return state::kv_write{o};
}

std::string holder_of(cluster_fixture& c, std::size_t through, int i) {
  const auto r = c.found(c.get(through, "lock/" + std::to_string(i)));
  const auto& found = std::get<state::kv_entries>(std::get<state::query_result>(r.answer).data).entries;
  return std::string(found.empty() ? std::string_view() : found.front()->session);
}

struct partition_figures {
  milliseconds without_leader{0}, until_agreed{0};
  int wrongly_released = 0, rightly_released = 0;
};

/// The leader is alone for 90 s, with the clients of half of the locks, which cannot renew.
partition_figures run_partition(std::uint64_t seed) {
  partition_figures f;
  cluster_options options;
  options.seed = seed;
  cluster_fixture c(options);
  const auto alone = c.leader();
  const auto others = c.all_but(alone);
  std::vector<std::string> sessions;
  for (int i = 0; i < locks; ++i) {
    sessions.push_back(c.session(i % 2 == 0 ? alone : others[0], ttl_of_all));
    REQUIRE(std::get<bool>(c.written(c.write(others[0], lock_of(i, sessions.back()))).reply));
  }
  const auto renew_all = [&] {
    for (int i = 0; i < locks; ++i)
      c.renew(i % 2 == 0 ? alone : others[static_cast<std::size_t>(i / 2) % 2], sessions[static_cast<std::size_t>(i)]);
  };
  renew_all();
  c.pass(seconds(1));

  c.net().partition({{alone}, others});
  const auto cut = c.now();
  REQUIRE(c.until([&] { return c.serving(others[0]) || c.serving(others[1]); }));
  f.without_leader = std::chrono::duration_cast<milliseconds>(c.now() - cut);
  while (c.now() - cut < seconds(90)) {
    renew_all();
    c.pass(ttl_of_all / 3);
  }
  c.net().heal();
  const auto healed = c.now();
  const auto agreed = [&] {
    for (const auto i : others)
      if (c.view(alone).soft.leader != c.view(i).soft.leader || c.view(alone).soft.leader.is_zero() ||
          c.applied(alone) != c.applied(i) || c.digest(alone) != c.digest(i))
        return false;
    return true;
  };
  REQUIRE(c.until(agreed));
  f.until_agreed = std::chrono::duration_cast<milliseconds>(c.now() - healed);
  for (int i = 0; i < locks; ++i) {
    const bool held = holder_of(c, alone, i) == sessions[static_cast<std::size_t>(i)];
    if (i % 2 == 1)
      f.wrongly_released += held ? 0 : 1;
    else
      f.rightly_released += held ? 0 : 1;
  }
  return f;
}

} // namespace

TEST_CASE("scene: a partition of 90 s", "[actors][sessions][scenes]") {
  std::vector<milliseconds> without_leader, until_agreed;
  int wrong = 0, right = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto f = run_partition(seed);
    without_leader.push_back(f.without_leader);
    until_agreed.push_back(f.until_agreed);
    wrong += f.wrongly_released;
    right += f.rightly_released;
  }
  std::sort(without_leader.begin(), without_leader.end());
  std::sort(until_agreed.begin(), until_agreed.end());
  INFO("20 partitions, " << 20 * locks << " locks; a leader on the larger side after " << without_leader[10].count()
                         << " ms (median), " << without_leader.back().count() << " ms at most; all agree again "
                         << until_agreed[10].count() << " ms after the end (median), " << until_agreed[18].count()
                         << " ms (p95); " << wrong << " released wrongly, " << right
                         << " because nobody could renew them");
  CHECK(wrong == 0);
  CHECK(right == 20 * locks / 2);
  CHECK(until_agreed.back() < seconds(5));
}
