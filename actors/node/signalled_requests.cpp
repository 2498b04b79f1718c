#include "actors/node/signalled_requests.hpp"

#include <csignal>
#include <unistd.h>
#include <utility>

namespace belay::actors {

void signalled_requests::add(then t) {
  {
    std::lock_guard hold(mutex_);
    if (!closed_) {
      waiting_.push_back(std::move(t));
      ::kill(::getpid(), signal_); // stays pending until the thread waits for signals
      return;
    }
  }
  t(too_late_);
}

std::vector<signalled_requests::then> signalled_requests::take() {
  std::lock_guard hold(mutex_);
  return std::exchange(waiting_, {});
}

void signalled_requests::close() {
  {
    std::lock_guard hold(mutex_);
    closed_ = true;
  }
  for (auto& t : take())
    t(too_late_);
}

} // namespace belay::actors
