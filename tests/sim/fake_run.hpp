#pragma once
// A substitute for the simulation in tests of `belay-sim`: short runs that fail on demand.

#include "sim/run.hpp"

namespace belay::sim::testing {

inline constexpr stream nemesis{stream_kind::nemesis, 0};

/// Passes. Makes a few choices, and its trace hash from them.
inline run_report harmless_run(tape& t, const run_options& o) {
  run_report r;
  r.trace_hash = 1;
  for (int i = 0; i < 10; ++i) {
    const auto answer = t.choose(nemesis, 100);
    r.trace_hash = r.trace_hash * 31 + answer;
    if (o.trace)
      o.trace("event " + std::to_string(i) + " " + std::to_string(answer));
  }
  r.events = 10;
  r.choices = t.taken().size();
  r.duration = o.profile.chaos;
  r.operations = 3;
  r.done = 3;
  r.faults = {{"crash", 2}};
  return r;
}

inline run_report broken_run(run_report r, run_outcome v, std::string checker, std::string what) {
  r.outcome = v;
  r.checker = std::move(checker);
  r.what = std::move(what);
  return r;
}

} // namespace belay::sim::testing
