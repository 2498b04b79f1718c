#include "actors/node/boot_clock.hpp"

#include <ctime>

namespace belay::actors {

boot_clock::time_point boot_clock::now() {
  timespec t{};
  ::clock_gettime(CLOCK_BOOTTIME, &t); // there since Linux 2.6.39; as cheap as the other one
  return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

} // namespace belay::actors
