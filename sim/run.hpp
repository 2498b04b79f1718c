#pragma once
// One simulated run: a cluster of the real actors with its clients, from the first choice of a tape to the verdict.

#include "sim/chance/tape.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belay::sim {

/// Nanoseconds of virtual time since the start of the run.
using virtual_time = std::chrono::nanoseconds;

/// Whole ones, as text.
inline std::string in_ms(virtual_time t) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(t).count()) + " ms";
}

/// What kind of run: which faults may be drawn, how large, how long. Names and meanings: docs/testing.md.
struct profile {
  std::string name = "swarm";
  std::vector<std::size_t> nodes = {3, 5}; ///< one of them is drawn
  std::chrono::seconds chaos{45};          ///< faults everywhere
  std::chrono::seconds calm{15};           ///< a majority is healed; progress is demanded
  bool rests = false;                      ///< within the chaos comes a long time without faults and with few requests
  std::chrono::seconds longest_partition{0};   ///< a quarter of the partitions last so long; zero: none lasts long
  bool faults = true;                          ///< false: none at all
  bool frozen = false;                         ///< the faults of a certain day, whatever is added to the others
  bool restarts = false;                       ///< no clients: servers are restarted after each kind of operation
  bool locks = false;                          ///< in every run; false: in those that draw them
  std::uint32_t client_agents_per_million = 0; ///< of the runs have some
  std::uint32_t keys_per_million = 0;          ///< of the runs have clients with idempotency keys
  std::uint32_t claims_per_million = 0;        ///< of the runs have clients of claims
  std::uint32_t followers_per_million = 0;     ///< of the runs without ACLs have clients that follow changes
  std::uint32_t library_per_million = 0;       ///< of the runs in the open have processes with the client library
  std::uint32_t operations_per_second = 40;    ///< of all clients together, about
};

/// nullopt: no profile of that name.
std::optional<profile> profile_named(std::string_view name);
std::vector<std::string> profile_names();

enum class verdict : std::uint8_t {
  passed,
  safety,         ///< a rule was broken
  liveness,       ///< no progress although a majority was healed
  nondeterminism, ///< the same tape made another run (found by running it twice)
};
const char* name_of(verdict v);

/// Counted in buckets of 50 ms.
using histogram_50ms = std::map<std::uint32_t, std::uint64_t>;

struct run_report {
  std::uint64_t seed = 0;
  verdict outcome = verdict::passed;
  std::string checker; ///< who complained, e.g. "raft invariants", "replies"; empty if passed
  std::string what;    ///< the broken rule with its facts
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0; ///< messages handled, frames delivered, faults, timers
  virtual_time duration{0};
  std::uint64_t choices = 0; ///< length of the tape: answers other than 0
  std::uint64_t operations = 0, done = 0, refused = 0, unknown = 0;
  std::uint64_t elections = 0; ///< leaders that took office
  std::chrono::milliseconds heal_to_convergence{0};
  /// The same, but since the last fault was over that goes on after the healing: a write that hangs already, a damaged disk
  /// that is replaced.
  std::chrono::milliseconds last_fault_to_convergence{0};
  /// What the cluster waited for meanwhile (sim/checkers/recovery.hpp), by name: the sum is heal_to_convergence.
  std::map<std::string, std::uint64_t> waited_ms;
  std::chrono::milliseconds longest_write_gap{0};
  std::uint64_t wrongly_released_locks = 0;
  std::map<std::string, std::uint64_t> faults; ///< by name, how often
};

struct run_options {
  sim::profile profile;
  /// Gets one line per event: virtual time, node, what happens, in words. Null: no trace.
  std::function<void(const std::string&)> trace;
};

/// Runs to the end or to the first broken rule. Deterministic in the tape and the profile: not in time, addresses,
/// environment. Probes reached are added to the counters of protocol/base/probe.
run_report run(tape& choices, const run_options& options);

/// What sweeps, shrinks and replays call: run(), or a test's own.
using run_function = std::function<run_report(tape&, const run_options&)>;

} // namespace belay::sim
