#pragma once
// One simulated run: a cluster of the real actors with its clients, from first choice to outcome.

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

/// Whole milliseconds, as text.
inline std::string in_ms(virtual_time t) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(t).count()) + " ms";
}

/// The kind of a run: which faults may be drawn, how many nodes, how long (docs/internals/testing.md).
struct profile {
  std::string name = "swarm";
  std::vector<std::size_t> nodes = {3, 5};   ///< one of them is drawn
  std::chrono::seconds chaos{45};            ///< duration of the faults
  std::chrono::seconds calm{15};             ///< a majority is healed; progress is required
  bool rests = false;                        ///< the chaos includes a long period without faults and with few requests
  std::chrono::seconds longest_partition{0}; ///< length of a quarter of the partitions; zero: none is that long
  bool faults = true;                        ///< false: no faults at all
  bool frozen = false;                       ///< its faults and limits never change (profile `reference`)
  bool restarts = false;                     ///< no clients: servers are restarted after each kind of operation
  bool locks = false;                        ///< in every run; false: in the runs that draw them
  std::uint32_t client_agents_per_million = 0; ///< share of the runs with client agents
  std::uint32_t keys_per_million = 0;          ///< share of the runs with clients that use idempotency keys
  std::uint32_t claims_per_million = 0;        ///< share of the runs with clients that use claims
  std::uint32_t followers_per_million = 0;     ///< share of the runs without ACLs that follow changes
  std::uint32_t library_per_million = 0;       ///< share of the runs without ACLs with client-library users
  std::uint32_t operations_per_second = 40;    ///< approximate rate of all clients together
};

/// nullopt: there is no profile of that name.
std::optional<profile> profile_named(std::string_view name);
std::vector<std::string> profile_names();

enum class run_outcome : std::uint8_t {
  passed,
  safety,         ///< a rule was broken
  liveness,       ///< no progress although a majority was healed
  nondeterminism, ///< the same tape produced a different run (found by running it twice)
};
const char* name_of(run_outcome v);

/// Counted in buckets of 50 ms.
using histogram_50ms = std::map<std::uint32_t, std::uint64_t>;

struct run_report {
  std::uint64_t seed = 0;
  run_outcome outcome = run_outcome::passed;
  std::string checker; ///< checker that failed, e.g. "raft invariants", "replies"; empty if passed
  std::string what;    ///< the broken rule with its facts
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0; ///< messages handled, frames delivered, faults, timers
  virtual_time duration{0};
  std::uint64_t choices = 0; ///< length of the tape: choices other than 0
  std::uint64_t operations = 0, done = 0, refused = 0, unknown = 0;
  std::uint64_t elections = 0; ///< leaders that were elected
  std::chrono::milliseconds heal_to_convergence{0};
  /// The same, measured from the end of the last fault that outlasted the healing. Such a fault is
  /// a write that was already stalled, or a damaged disk that is replaced.
  std::chrono::milliseconds last_fault_to_convergence{0};
  /// Waits until convergence, by name (sim/checkers/recovery.hpp). The sum is heal_to_convergence.
  std::map<std::string, std::uint64_t> waited_ms;
  std::chrono::milliseconds longest_write_gap{0};
  std::uint64_t wrongly_released_locks = 0;
  std::map<std::string, std::uint64_t> faults; ///< number of each fault, by name
};

struct run_options {
  sim::profile profile;
  /// Receives one line per event: virtual time, node, event in words. Null: no trace.
  std::function<void(const std::string&)> trace;
};

/// Runs to the end or to the first broken rule. Depends on the tape and the profile only, not on
/// the environment. Adds the probes reached to the counters of protocol/base/probe.
run_report run(tape& choices, const run_options& options);

/// The function that sweeps, shrinks and replays call: run(), or one of a test.
using run_function = std::function<run_report(tape&, const run_options&)>;

} // namespace belay::sim
