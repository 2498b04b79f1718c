#include "actors/gateway/arrival_probe.hpp"

#include "protocol/base/check.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

namespace belay::actors {

arrival_probe::arrival_probe(std::shared_ptr<socket_poller> poller, std::function<void()> served)
    : poller_(std::move(poller)), served_(std::move(served)), fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  INVARIANT(fd_ >= 0);
  watched_ = poller_->change(fd_, *this, {}, {true, false});
}

arrival_probe::~arrival_probe() {
  if (watched_)
    poller_->change(fd_, *this, {true, false}, {});
  ::close(fd_);
}

bool arrival_probe::begin() {
  if (waits_ || ::eventfd_write(fd_, 1) != 0)
    return false;
  waits_ = true;
  return true;
}

void arrival_probe::on_ready(bool, bool) {
  eventfd_t ignored = 0;
  ::eventfd_read(fd_, &ignored);
  if (std::exchange(waits_, false))
    served_();
}

} // namespace belay::actors
