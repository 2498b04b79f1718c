#include "sim/run.hpp"

#include <algorithm>

namespace belay::sim {

using std::chrono::seconds;

namespace {

std::vector<profile> all_profiles() {
  profile swarm;
  swarm.client_agents_per_million = 300'000;
  swarm.claims_per_million = 250'000;
  swarm.library_per_million = 150'000;
  profile calm;
  calm.name = "calm";
  calm.faults = false;
  profile brief;
  brief.name = "brief";
  brief.chaos = seconds(15);
  brief.calm = seconds(5);
  profile endurance;
  endurance.name = "endurance";
  // Claims, outcomes and tombstones are forgotten in the rest or after it, and requested again.
  endurance.chaos = seconds(1100);
  endurance.calm = seconds(40);
  endurance.rests = true;
  endurance.claims_per_million = 500'000;
  endurance.keys_per_million = 500'000;
  endurance.library_per_million = 200'000;
  endurance.client_agents_per_million = 200'000;
  endurance.longest_partition = seconds(90); // as long as Jepsen's: sessions end, logs diverge far
  profile locks;
  locks.name = "locks";
  locks.locks = true;
  locks.chaos = seconds(20); // several times the TTLs and the shorter delays
  locks.calm = seconds(10);
  profile claims;
  claims.name = "claims";
  claims.claims_per_million = 1'000'000;
  claims.client_agents_per_million = 300'000;
  claims.chaos = seconds(20);
  claims.calm = seconds(15); // all sessions end in it, and the lock delays they leave
  profile once;
  once.name = "once";
  once.keys_per_million = 1'000'000;
  once.library_per_million = 400'000;
  profile agents;
  agents.name = "agents";
  agents.client_agents_per_million = 1'000'000;
  profile changes;
  changes.name = "changes";
  changes.followers_per_million = 1'000'000;
  changes.client_agents_per_million = 250'000;
  changes.chaos = seconds(25);
  changes.calm = seconds(15); // each stream receives its cursor in it
  profile restarts;
  restarts.name = "restart-after-each";
  restarts.restarts = true;
  restarts.faults = false;
  restarts.nodes = {3, 1};
  restarts.chaos = restarts.calm = seconds(1); // nominal: the tour takes as long as it needs
  profile reference;
  reference.name = "reference";
  reference.frozen = true;
  return {swarm, calm, brief, endurance, locks, claims, once, agents, changes, restarts, reference};
}

} // namespace

std::optional<profile> profile_named(std::string_view name) {
  const auto all = all_profiles();
  const auto found = std::find_if(all.begin(), all.end(), [name](const profile& p) { return p.name == name; });
  return found == all.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const auto& p : all_profiles())
    names.push_back(p.name);
  return names;
}

const char* name_of(run_outcome v) {
  constexpr const char* names[] = {"passed", "safety", "liveness", "nondeterminism"};
  return names[static_cast<std::size_t>(v)];
}

} // namespace belay::sim
