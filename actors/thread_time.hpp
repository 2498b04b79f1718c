#pragma once
// CPU time used by the calling thread.

#include <time.h>

#include <chrono>

namespace belay::actors {

inline std::chrono::nanoseconds thread_time() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

} // namespace belay::actors
