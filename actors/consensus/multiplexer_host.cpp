#include "actors/consensus/multiplexer_host.hpp"

#include "protocol/base/check.hpp"

#include <caf/io/middleman.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <caf/io/network/event_handler.hpp>

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <vector>

namespace belay::actors {

namespace {

int new_set() {
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  INVARIANT(fd >= 0);
  return fd;
}

} // namespace

/// CAF sees one descriptor to read: an epoll set of a timer and of the sockets that are waited
/// for. Everything except the constructor runs on the multiplexer's thread.
class multiplexer_waits final : public caf::io::network::event_handler {
public:
  explicit multiplexer_waits(caf::io::network::default_multiplexer& loop)
      : event_handler(loop, new_set()), timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
    INVARIANT(timer_ >= 0);
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.fd = timer_;
    INVARIANT(epoll_ctl(fd(), EPOLL_CTL_ADD, timer_, &e) == 0);
  }
  ~multiplexer_waits() override { ::close(timer_); }

  void begin() { activate(); }
  /// Ends all waits; the object deletes itself.
  void end() {
    timed_.clear();
    sockets_.clear();
    passivate();
  }

  void after(std::chrono::nanoseconds d, std::function<void()> then) {
    PRECONDITION(then != nullptr);
    timed_.emplace(end_of_wait(d), std::move(then));
    arm();
  }
  void when_readable(int socket, std::function<void()> then) {
    PRECONDITION(then != nullptr);
    epoll_event e{};
    e.events = EPOLLIN | EPOLLONESHOT;
    e.data.fd = socket;
    const auto known = sockets_.insert_or_assign(socket, std::move(then));
    INVARIANT(epoll_ctl(fd(), known.second ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &e) == 0);
  }
  void no_longer(int socket) {
    if (sockets_.erase(socket) > 0)
      epoll_ctl(fd(), EPOLL_CTL_DEL, socket, nullptr);
  }

  void handle_event(caf::io::network::operation) override {
    epoll_event events[8];
    const int n = epoll_wait(fd(), events, 8, 0);
    for (int i = 0; i < n; ++i)
      if (events[i].data.fd != timer_)
        run_socket(events[i].data.fd);
    run_due();
  }
  void removed_from_loop(caf::io::network::operation) override { delete this; }
  void graceful_shutdown() override { end(); }

private:
  using steady = std::chrono::steady_clock; // CLOCK_MONOTONIC

  void run_socket(int socket) {
    const auto it = sockets_.find(socket);
    if (it == sockets_.end() || !it->second)
      return;
    const auto then = std::exchange(it->second, nullptr); // the socket stays in the set, disarmed
    then();
  }

  void run_due() {
    std::uint64_t expired = 0;
    (void)!::read(timer_, &expired, sizeof expired);
    const auto now = steady::now();
    std::vector<std::function<void()>> due;
    for (auto it = timed_.begin(); it != timed_.end() && it->first <= now; it = timed_.erase(it))
      due.push_back(std::move(it->second));
    armed_ = steady::time_point::max();
    for (const auto& then : due)
      then();
    arm();
  }

  void arm() {
    if (timed_.empty() || timed_.begin()->first >= armed_)
      return;
    armed_ = timed_.begin()->first;
    const auto at = armed_.time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at);
    itimerspec when{};
    when.it_value = {seconds.count(), static_cast<long>(std::chrono::nanoseconds(at - seconds).count())};
    timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
  }

  int timer_;
  steady::time_point armed_ = steady::time_point::max();
  std::multimap<steady::time_point, std::function<void()>> timed_;
  std::map<int, std::function<void()>> sockets_; ///< null: not waited for at the moment
};

multiplexer_host::multiplexer_host(caf::actor_system& system)
    : unit_(&system.middleman().backend()),
      waits_(
          new multiplexer_waits(dynamic_cast<caf::io::network::default_multiplexer&>(system.middleman().backend()))) {
  system.middleman().backend().post([w = waits_] { w->begin(); });
}

multiplexer_host::~multiplexer_host() {
  waits_->backend().post([w = waits_] { w->end(); });
}

void multiplexer_host::after(std::chrono::nanoseconds d, std::function<void()> then) {
  waits_->after(d, std::move(then));
}

void multiplexer_host::when_readable(int fd, std::function<void()> then) {
  waits_->when_readable(fd, std::move(then));
}

void multiplexer_host::no_longer(int fd) {
  waits_->no_longer(fd);
}

} // namespace belay::actors
