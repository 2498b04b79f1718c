#include "actors/node/free_memory.hpp"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <thread>

// Of tcmalloc, where the program is built with it (CMakeLists.txt).
extern "C" [[gnu::weak]] void MallocExtension_ReleaseToSystem(std::size_t bytes);

namespace belay::actors {

namespace {

constexpr std::size_t step_bytes = 8 << 20;
constexpr std::chrono::milliseconds pause{1};

} // namespace

void give_back_memory(std::size_t bytes) {
  if (MallocExtension_ReleaseToSystem == nullptr) {
    malloc_trim(0);
    return;
  }
  for (std::size_t given = 0; given < bytes; given += step_bytes) {
    MallocExtension_ReleaseToSystem(step_bytes);
    std::this_thread::sleep_for(pause);
  }
}

} // namespace belay::actors
