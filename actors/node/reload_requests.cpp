#include "actors/node/reload_requests.hpp"

#include <csignal>
#include <unistd.h>
#include <utility>

namespace belay::actors {

namespace {

// Consul's text.
constexpr const char* too_late = "Agent was shutdown before reload could be completed";

} // namespace

void reload_requests::add(then t) {
  {
    std::lock_guard hold(mutex_);
    if (!closed_) {
      waiting_.push_back(std::move(t));
      ::kill(::getpid(), SIGHUP); // blocked in all threads: it waits for the one that asks for signals
      return;
    }
  }
  t(too_late);
}

std::vector<reload_requests::then> reload_requests::take() {
  std::lock_guard hold(mutex_);
  return std::exchange(waiting_, {});
}

void reload_requests::close() {
  {
    std::lock_guard hold(mutex_);
    closed_ = true;
  }
  for (auto& t : take())
    t(too_late);
}

} // namespace belay::actors
