// The scenarios, and the rules that must hold.
#include "examples/simulator/nightly_job.hpp"

#include <belay/lease.hpp>
#include <belay/sim.hpp>

#include <set>

using namespace std::chrono_literals;

namespace {

/// The guarded resource. It accepts pages, and rejects fences smaller than the largest seen.
class ledger {
public:
  belay::answer take(const belay::request& q) {
    const auto fence = belay::sim::parameter(q, "fence");
    if (!fence.empty() && !checker_.admits(std::stoull(fence)))
      return belay::answer(409, "somebody else has the lock");
    const auto run = belay::sim::parameter(q, "run");
    if (run != last_run_) {
      mixed_ = mixed_ || !runs_.insert(run).second;
      last_run_ = run;
    }
    if (belay::sim::parameter(q, "page") == "3")
      ++complete_;
    return belay::answer(200, "true");
  }
  /// Whether a run has written again after another one had begun.
  bool mixed() const { return mixed_; }
  int complete() const { return complete_; }

private:
  belay::fencing_token_checker checker_;
  std::set<std::string> runs_;
  std::string last_run_;
  bool mixed_ = false;
  int complete_ = 0;
};

} // namespace

BELAY_SCENARIO("one writer at a time") {
  ledger pages;
  int complete_before = -1;
  scenario.service("/ledger", [&](const belay::request& q) { return pages.take(q); });
  for (const auto* name : {"a", "b"})
    scenario.client(name, [](belay::sim::process& me) {
      return nightly_job(me, "/ledger", me.name() + std::to_string(me.life()));
    });
  scenario.always("pages of two runs are not mixed", [&] { return !pages.mixed(); });
  scenario.eventually("a run is completed without faults", [&] {
    if (complete_before < 0)
      complete_before = pages.complete();
    return pages.complete() > complete_before;
  });
  scenario.run(20s, 60s);
}
