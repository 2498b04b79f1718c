#pragma once
// Costs as ratios of CPU times, on machines that other processes use, too.

#include <algorithm>
#include <chrono>
#include <ctime>

namespace belay::harness {

/// The CPU time of the calling thread: a thread that waits for a processor uses none.
inline std::chrono::nanoseconds thread_cpu_time() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

/// The minimum CPU time of one call of `f` in `rounds` calls, at least 1 ns.
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

/// True once `holds` returns true, after at most five calls. Processes that evict the caches spoil
/// one or two measurements; a cost that grows too fast spoils all of them.
template <class F>
bool holds_once(F holds) {
  for (int attempt = 0; attempt < 5; ++attempt)
    if (holds())
      return true;
  return false;
}

} // namespace belay::harness
