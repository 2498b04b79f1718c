#include "actors/node/boot_clock.hpp"

#include "protocol/base/mutants.hpp"

#include <ctime>

namespace belay::actors {

bool boot_clock::counts_suspensions() {
  return !MUTANT(times_of_steady_clock);
}

boot_clock::time_point boot_clock::now() {
  timespec t{};
  // CLOCK_BOOTTIME exists since Linux 2.6.39, and is as cheap as the other one.
  ::clock_gettime(counts_suspensions() ? CLOCK_BOOTTIME : CLOCK_MONOTONIC, &t);
  return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

} // namespace belay::actors
