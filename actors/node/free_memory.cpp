#include "actors/node/free_memory.hpp"

#include "actors/telemetry/log.hpp"

#include <caf/event_based_actor.hpp>

#include <malloc.h>

#include <chrono>
#include <thread>

// Functions of tcmalloc, if the program is built with it (CMakeLists.txt).
// NOLINTNEXTLINE(readability-identifier-naming): the name is tcmalloc's
extern "C" [[gnu::weak]] void MallocExtension_ReleaseToSystem(std::size_t bytes);
// NOLINTNEXTLINE(readability-identifier-naming): the same
extern "C" [[gnu::weak]] int MallocExtension_GetNumericProperty(const char* property, std::size_t* value);

namespace belay::actors {

namespace {

constexpr std::size_t step_bytes = 1 << 20; // other threads that allocate wait about a millisecond
constexpr std::chrono::milliseconds pause{1};
constexpr std::chrono::seconds interval{2};

} // namespace

std::size_t free_memory() {
  std::size_t bytes = 0;
  if (MallocExtension_GetNumericProperty == nullptr)
    return mallinfo2().fordblks;
  return MallocExtension_GetNumericProperty("tcmalloc.pageheap_free_bytes", &bytes) != 0 ? bytes : 0;
}

void give_back_memory(std::size_t bytes) {
  if (MallocExtension_ReleaseToSystem == nullptr) {
    malloc_trim(0);
    return;
  }
  for (std::size_t given = 0; given < bytes; given += step_bytes) {
    MallocExtension_ReleaseToSystem(std::min(step_bytes, bytes - given));
    std::this_thread::sleep_for(pause);
  }
}

memory_housekeeping::memory_housekeeping(boost::asio::io_context& loop, caf::actor_system& system)
    : timer_(loop), system_(system) {
  look_later();
}

void memory_housekeeping::look_later() {
  timer_.expires_after(interval);
  timer_.async_wait([this](boost::system::error_code error) {
    if (error)
      return;
    if (const auto bytes = unused_.due(free_memory()); bytes != 0) {
      log::debug("node", "memory returned to the system", {{"bytes", bytes}});
      system_.spawn([bytes] { give_back_memory(bytes); });
    }
    look_later();
  });
}

} // namespace belay::actors
