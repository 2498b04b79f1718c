#pragma once
// Runs simulations in child processes, so that a run that crashes or hangs is one failed run and
// does not end the sweep.

#include "sim/record/report.hpp"

#include <iosfwd>

namespace belay::sim {

/// A run that throws is a safety failure of the checker "exception". The report has its seed.
run_report run_guarded(const run_function& run, tape& choices, const run_options& options);

/// The same, then once more from the resulting tape, without a trace. If that run differs, the
/// outcome is nondeterminism (a safety failure of the first one stays, with a note in its text).
run_report run_twice(const run_function& run, tape& choices, const run_options& options);

struct isolation {
  run_function run;
  sim::profile profile;
  std::chrono::seconds wall_limit{600}; ///< real time after which a run is killed; 0: none
  bool twice = false;
  std::ostream* trace = nullptr; ///< gets the events, from the other process: a file, a pipe, std::cout
};

struct isolated_run {
  run_report report;
  std::vector<tape_item> taken;
  /// False: the process died before it could send its tape, and `taken` is empty.
  bool taken_known = false;
  std::string stderr_tail; ///< the end of what the run wrote to stderr
};

/// Forks; @pre this process has no threads that the child needs. A run that dies is a safety
/// failure with the signal's name as checker; one over the time limit is a liveness failure of
/// "wall clock".
/// @returns an error if no process can be started.
result<isolated_run> run_isolated(const isolation& how, const tape& start);

// ---- for callers that manage processes themselves

/// Captures the stderr of a child process. The parent makes it before it forks.
class stderr_catcher {
public:
  stderr_catcher();
  ~stderr_catcher();
  stderr_catcher(const stderr_catcher&) = delete;
  stderr_catcher& operator=(const stderr_catcher&) = delete;

  /// In the child: redirects fd 2 (and fd 1 unless it is kept) to it.
  void take_over(bool stdout_too) const;
  /// In the child: drops the output so far.
  void restart() const;
  /// In the parent: printable characters and line breaks only, at most `limit` bytes.
  std::string tail(std::size_t limit = 4000) const;

private:
  int file_ = -1;
};

/// In a new child: it dies with the parent, leaves no core dump, ignores Ctrl-C, and has only
/// default signal handlers.
void become_child_of(int parent_pid);

run_report report_of_death(std::uint64_t seed, int wait_status, const std::string& stderr_tail);
run_report report_of_timeout(std::uint64_t seed, std::chrono::seconds limit);

} // namespace belay::sim
