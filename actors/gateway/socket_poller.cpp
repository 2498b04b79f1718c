#include "actors/gateway/socket_poller.hpp"

#include "protocol/base/check.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace belay::actors {

socket_poller::socket_poller(boost::asio::io_context& loop) : set_(loop) {
  const int fd = ::epoll_create1(EPOLL_CLOEXEC);
  INVARIANT(fd >= 0);
  set_.assign(fd);
}

bool socket_poller::change(int fd, socket_owner& owner, interest before, interest now) {
  if (before == now)
    return true;
  epoll_event e{};
  e.events = (now.read ? EPOLLIN : 0u) | (now.write ? EPOLLOUT : 0u) | (now.hang_up ? EPOLLRDHUP : 0u);
  e.data.ptr = &owner;
  const int how = before.none() ? EPOLL_CTL_ADD : now.none() ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
  if (::epoll_ctl(set_.native_handle(), how, fd, &e) != 0)
    return false;
  if (how == EPOLL_CTL_ADD) {
    ++watched_;
    wait();
  } else if (how == EPOLL_CTL_DEL) {
    for (std::size_t i = 0; i < pending_; ++i)
      if (events_[i].data.ptr == &owner)
        events_[i].data.ptr = nullptr; // the owner may be gone when its turn comes
    if (--watched_ == 0)
      set_.cancel(); // the loop may end
  }
  return true;
}

void socket_poller::wait() {
  if (std::exchange(waiting_, true))
    return;
  set_.async_wait(stream_descriptor::wait_read, [self = shared_from_this()](const boost::system::error_code& ec) {
    self->waiting_ = false;
    if (!ec)
      self->look();
    if (self->watched_ > 0)
      self->wait();
  });
}

void socket_poller::look() {
  const int ready = ::epoll_wait(set_.native_handle(), events_.data(), events_per_batch, 0);
  pending_ = ready > 0 ? static_cast<std::size_t>(ready) : 0;
  for (std::size_t i = 0; i < pending_; ++i) {
    const auto& e = events_[i];
    const bool broken = (e.events & (EPOLLERR | EPOLLHUP)) != 0;
    if (auto* owner = static_cast<socket_owner*>(e.data.ptr); owner != nullptr)
      owner->on_ready((e.events & EPOLLIN) != 0 || broken, (e.events & EPOLLOUT) != 0 || broken);
    if ((e.events & EPOLLRDHUP) == 0 && !broken)
      continue;
    if (auto* owner = static_cast<socket_owner*>(e.data.ptr); owner != nullptr) // it is still there
      owner->on_hang_up(broken);
  }
  pending_ = 0;
}

void socket_poller::again(socket_owner& owner) {
  again_.push_back(&owner);
  if (again_.size() == 1)
    boost::asio::post(set_.get_executor(), [self = shared_from_this()] { self->resume_all(); });
}

void socket_poller::not_again(socket_owner& owner) {
  socket_owner* const no_owner = nullptr;
  for (auto* waiting : {&again_, &resuming_})
    std::replace(waiting->begin(), waiting->end(), &owner, no_owner);
}

void socket_poller::resume_all() {
  resuming_.swap(again_);
  for (std::size_t i = 0; i < resuming_.size(); ++i)
    if (auto* owner = resuming_[i])
      owner->on_resumed();
  resuming_.clear();
}

} // namespace belay::actors
