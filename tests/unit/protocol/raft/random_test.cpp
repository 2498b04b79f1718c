#include "tests/unit/protocol/raft/raft_cluster.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>

using namespace belay;
using namespace belay::raft;
using namespace belay::raft::testing;

namespace {

/// Which faults a run has, and how often; most runs lack most of them.
struct fault_rates {
  std::uint64_t loss, duplicate, reorder, partition, cut, crash, disk, install, checkpoint, members, transfer, pause,
      idle;
};

class random_run {
public:
  explicit random_run(std::uint64_t seed) : chance_(seed), cluster_(seed) {
    auto some = [&](std::uint64_t rate) { return chance_.below(2) == 0 ? 0 : 1 + chance_.below(rate); };
    rates_ = {some(100), some(100), some(300), some(60), some(80),  some(60),  some(60),
              some(40),  some(150), some(60),  some(60), some(300), some(1000)};
    cluster_.start(3 + 2 * chance_.below(2));
  }

  std::size_t steps_taken = 0;

  void run(int steps) {
    for (int i = 0; i < steps; ++i, ++steps_taken) {
      step();
      look_at_reads();
      look_at_leases();
      if (i % 64 == 0)
        cluster_.check_logs();
    }
    const auto wrong = cluster_.converge();
    if (!wrong.empty())
      throw broken_invariant("not converged: " + wrong);
    look_at_reads();
  }

  log_index committed() const { return cluster_.facts().committed(); }

private:
  bool happens(std::uint64_t per_thousand) { return chance_.below(1000) < per_thousand; }
  std::uint64_t any_node() {
    const auto ids = cluster_.ids();
    return ids[chance_.below(ids.size())];
  }

  void step() {
    auto& net = cluster_.in_flight();
    if (net.size() > 200) // a slow network loses what it cannot carry
      net.erase(net.begin(), net.begin() + 100);
    if (!net.empty() && !happens(250)) {
      const auto i = happens(rates_.reorder) ? chance_.below(net.size()) : 0;
      if (happens(rates_.loss))
        cluster_.drop(i);
      else
        cluster_.deliver(i, happens(rates_.duplicate));
    } else if (happens(300)) {
      tick();
    } else if (happens(700)) {
      if (happens(rates_.idle))
        return; // without new entries a node that receives nothing stays electable
      // Proposals mostly go to a node that believes that it leads.
      auto id = any_node();
      for (int i = 0; i < 6 && !(cluster_.up(id) && cluster_.core(id).is_leader()); ++i)
        id = any_node();
      use(id);
    } else {
      disturb(any_node());
    }
  }

  void tick() {
    if (happens(rates_.pause)) // time passes for all but one
      cluster_.tick(any_node());
    else
      cluster_.tick_all();
  }

  void use(std::uint64_t id) {
    if (!cluster_.up(id))
      return;
    if (happens(rates_.members)) {
      change_members(id);
    } else if (happens(500)) {
      cluster_.propose(id, "v" + std::to_string(next_++));
    } else if (cluster_.core(id).read(next_)) {
      reads_[next_++] = {id, cluster_.facts().committed()};
      cluster_.settle(id);
    }
  }

  void disturb(std::uint64_t id) {
    if (happens(rates_.partition))
      partition();
    if (happens(rates_.cut))
      cluster_.cut(id, any_node());
    if (happens(60))
      cluster_.heal();
    if (happens(rates_.crash) && cluster_.up(id))
      cluster_.crash(id, chance_.below(3));
    if (!cluster_.up(id)) {
      if (happens(100))
        cluster_.restart(id);
      return;
    }
    if (happens(rates_.disk))
      cluster_.stall_disk(id, true);
    else if (happens(100))
      cluster_.stall_disk(id, false);
    else if (happens(100))
      cluster_.sync(id, 1), cluster_.settle(id);
    if (happens(rates_.install))
      cluster_.stall_install(id, true);
    else if (happens(100))
      cluster_.stall_install(id, false);
    if (happens(rates_.checkpoint))
      cluster_.checkpoint(id, chance_.below(6));
    if (happens(rates_.transfer))
      cluster_.core(id).transfer_leadership(node_id{any_node()}), cluster_.settle(id);
    if (happens(20))
      cluster_.core(id).peer_unreachable(node_id{any_node()}), cluster_.settle(id);
    if (happens(20))
      cluster_.core(id).broadcast_commit(), cluster_.settle(id);
  }

  void partition() {
    std::vector<std::vector<std::uint64_t>> groups(2);
    for (auto id : cluster_.ids())
      groups[chance_.below(2)].push_back(id);
    cluster_.partition(groups);
  }

  void change_members(std::uint64_t leader) {
    if (!cluster_.core(leader).is_leader())
      return;
    if (cluster_.ids().size() < 7 && happens(300))
      cluster_.add_node(cluster_.ids().size() + 1);
    std::vector<std::uint64_t> voters;
    std::vector<std::uint64_t> learners;
    for (auto id : cluster_.ids())
      switch (chance_.below(4)) {
      case 0:
        learners.push_back(id);
        break;
      case 1:
        break;
      default:
        voters.push_back(id);
      }
    if (!voters.empty())
      cluster_.core(leader).propose_configuration(make_config(voters, learners), cluster_.wall());
    cluster_.settle(leader);
  }

  /// A confirmed read must see everything that was committed when it was requested.
  void look_at_reads() {
    for (auto id : cluster_.ids()) {
      auto& n = cluster_.node(id);
      for (const auto& c : std::exchange(n.reads_confirmed, {}))
        if (c.index < reads_.at(c.id).second)
          throw broken_invariant("stale read at " + to_string(c.index) + " | " + n.core->describe());
      n.reads_failed.clear();
    }
  }

  /// While a lease holds, no other node can have committed anything.
  void look_at_leases() {
    for (auto id : cluster_.ids())
      if (cluster_.up(id) && cluster_.core(id).lease_until() > cluster_.now() &&
          cluster_.core(id).commit_index() < cluster_.facts().committed())
        throw broken_invariant("a lease did not hold | " + cluster_.core(id).describe());
  }

  seeded_random chance_;
  raft_cluster cluster_;
  fault_rates rates_{};
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, std::pair<std::uint64_t, log_index>> reads_;
};

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

} // namespace

// BELAY_SEED and BELAY_SEEDS choose other runs, to find the unexpected.
TEST_CASE("random faults break no rule, and the healed cluster converges") {
  const auto first = number_from("BELAY_SEED", 1);
  const auto count = number_from("BELAY_SEEDS", 400);
  std::uint64_t committed = 0;
  for (auto seed = first; seed < first + count; ++seed) {
    std::string problem;
    std::size_t step = 0;
    try {
      random_run run(seed);
      try {
        run.run(6000);
      } catch (const broken_invariant& broken) {
        problem = broken.what();
      }
      step = run.steps_taken;
      committed += run.committed().value;
    } catch (const broken_invariant& broken) {
      problem = broken.what();
    }
    INFO("seed " << seed << " step " << step);
    REQUIRE(problem == "");
  }
  INFO("committed per run: " << committed / count);
  CHECK(committed > count * 20); // the runs made progress
}
