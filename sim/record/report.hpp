#pragma once
// Figures of many runs as text, as JSON and as an exit code.
//
// The JSON report (--report). All members are always present, in this order:
//
//   format               1
//   command              the command line of the run
//   profile, mutant      names; mutant "" is none
//   interrupted          true: the sweep was interrupted, the figures cover what was done by then
//   runs                 their number
//   verdicts             {passed, safety, liveness, nondeterminism}: number of runs
//   wall_seconds         real time
//   virtual_hours        of all runs together
//   events, choices      sums
//   events_per_second    of real time
//   seeds_per_minute     of real time
//   operations           {asked, done, refused, unknown}
//   elections, wrongly_released_locks
//   heal_to_convergence_ms {median, p95, p99, max, buckets: {"0": n, "50": n, ...}, slow} of passed
//       runs; buckets, named by lower bounds, are absent if empty; slow, the slowest first: those
//       above slow_convergence, [{seed, ms, waited_ms: {what: ms}}] (sim/checkers/recovery.hpp)
//   last_fault_to_convergence_ms {median, p95, p99, max}: the same, from the end of the last fault
//       that outlasted the healing (a disk that hangs, a damaged one that is replaced)
//   longest_write_gap_ms {median, p95, p99, max} of passed runs
//   faults, probes       {name: how often}, by name
//   missing_probes       [name], required but never reached
//   failures             by seed: [{seed, verdict, checker, text, trace_hash, events, virtual_ms,
//       replay}]; trace_hash is hexadecimal, replay the command that repeats the run

#include "protocol/base/result.hpp"
#include "sim/run.hpp"

#include <boost/json/object.hpp>

#include <algorithm>
#include <set>
#include <tuple>

namespace belay::sim {

enum exit_code : int {
  exit_passed = 0,
  exit_safety = 1,
  exit_liveness = 2,
  exit_nondeterminism = 3,
  exit_usage = 64,
  exit_files = 74,
  exit_interrupted = 130,
};
int exit_code_of(run_outcome v);

/// A distribution of durations: how many runs took how many milliseconds.
class spread {
public:
  void add(std::chrono::milliseconds value) {
    ++counts_[static_cast<std::uint64_t>(std::max<std::int64_t>(0, value.count()))];
  }
  /// The smallest value that `percent` of all do not exceed; 0: no runs. @pre 0 < percent <= 100
  std::uint64_t percentile(unsigned percent) const;
  std::uint64_t size() const;
  histogram_50ms buckets() const;

private:
  std::map<std::uint64_t, std::uint64_t> counts_;
};

/// Runs that converge later are listed, with their waits.
inline constexpr std::chrono::milliseconds slow_convergence{487};

struct slow_run {
  std::chrono::milliseconds took{0};
  std::uint64_t seed = 0;
  std::map<std::string, std::uint64_t> waited_ms;
  auto operator<=>(const slow_run& other) const { return std::tie(took, seed) <=> std::tie(other.took, other.seed); }
};

struct figures {
  std::uint64_t runs = 0;
  std::map<run_outcome, std::uint64_t> outcomes;
  std::chrono::duration<double> wall{0};
  std::chrono::duration<double> virtual_seconds{0};
  std::uint64_t events = 0, choices = 0;
  std::uint64_t operations = 0, done = 0, refused = 0, unknown = 0;
  std::uint64_t elections = 0, wrongly_released_locks = 0;
  spread heal_to_convergence, last_fault_to_convergence, longest_write_gap; ///< passed runs only: others end early
  std::set<slow_run> slow;                                                  ///< the slowest last
  std::map<std::string, std::uint64_t> faults, probes;
  std::vector<run_report> failures; ///< by seed
  std::set<std::string> missing_probes;
  bool interrupted = false;

  void add(const run_report& r);
  void add_probes(const std::map<std::string, std::uint64_t>& reached);
  std::uint64_t of(run_outcome v) const;
};

/// Safety takes precedence, then a missing probe, nondeterminism, liveness, interruption.
int exit_code_of(const figures& f);

/// What a command line must contain to repeat a run.
struct recipe {
  std::string program, profile, mutant; ///< profile "": not given
  std::uint64_t virtual_seconds = 0;    ///< 0: not given
  std::string tape_file;                ///< not empty: the run of that tape, without options that the tape contains
  std::string profile_flag = "profile"; ///< how that program's command line names profiles
  std::string command(const run_report& failed) const;
};

/// One name a line; skips blank lines and lines that begin with #.
std::set<std::string> parse_required_probes(std::string_view text);
std::set<std::string> missing(const std::set<std::string>& required,
                              const std::map<std::string, std::uint64_t>& reached);

/// `seed 42: safety: replies: read an old value`; if it failed, the command is in a second line.
std::string described(const run_report& r, const recipe& how);
/// The summary of a sweep, several lines.
std::string described(const figures& f, const recipe& how);
/// `17/2000 1 failed 523 seeds/min ETA 3:47`, without a line break.
std::string progress_line(const figures& f, std::uint64_t total, std::chrono::duration<double> wall);

boost::json::object to_json(const figures& f, const recipe& how, const std::string& command);
/// Indented, with a line break at the end.
std::string pretty(const boost::json::value& v);

/// The lossless form in which workers send a report.
boost::json::object to_json(const run_report& r);
result<run_report> report_from_json(const boost::json::value& v);

} // namespace belay::sim
