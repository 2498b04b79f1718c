#pragma once
// Costs as ratios of CPU times, on machines that others use as well.

#include <algorithm>
#include <chrono>
#include <ctime>

namespace belay::harness {

/// The CPU time that the calling thread has used: a thread that waits for a processor uses none.
inline std::chrono::nanoseconds thread_cpu_time() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

/// The least CPU time of one call of `f` in `rounds` of them, at least 1 ns.
template <class F>
std::chrono::nanoseconds least_cpu_time(F f, int rounds = 5) {
  auto least = std::chrono::nanoseconds::max();
  for (int round = 0; round < rounds; ++round) {
    const auto begun = thread_cpu_time();
    f();
    least = std::min(least, thread_cpu_time() - begun);
  }
  return std::max(least, std::chrono::nanoseconds(1));
}

/// True once `holds` is true, at the latest after five calls. Neighbours who take the caches spoil one measurement or
/// two; a cost that grows faster than it may spoils all of them.
template <class F>
bool holds_once(F holds) {
  for (int attempt = 0; attempt < 5; ++attempt)
    if (holds())
      return true;
  return false;
}

} // namespace belay::harness
