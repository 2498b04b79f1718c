#pragma once
// Shrinks the tape of a failing run: removes choices and makes others less eventful while the run
// still fails in the same way.

#include "sim/run.hpp"

namespace belay::sim {

/// One run of a tape, and the resulting tape: the choices that were used.
struct attempt {
  run_report report;
  std::vector<tape_item> taken;
};
using attempt_function = std::function<attempt(const std::vector<tape_item>&)>;

struct shrink_limits {
  std::uint64_t runs = 2000;
  std::chrono::seconds wall{120};
};

struct shrunk {
  run_report report;            ///< report of the last run that failed as wanted; if there was none: of the first
  std::vector<tape_item> items; ///< sorted; they lead to that report
  bool reproduced = false;      ///< false: the tape did not fail when it was run again, nothing was done
  bool minimal = false;         ///< no single item can be dropped; false: a limit was reached first
  std::uint64_t runs = 0;
};

/// The same failure has the outcome and the checker of the first run; the text may differ.
/// @param progress after each success: items left, runs used; null: no callback
shrunk shrink(const std::vector<tape_item>& items, const attempt_function& run, const shrink_limits& limits,
              const std::function<void(std::size_t, std::uint64_t)>& progress = nullptr);

} // namespace belay::sim
