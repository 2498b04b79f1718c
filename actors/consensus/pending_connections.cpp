#include "actors/consensus/pending_connections.hpp"

#include "actors/spare_descriptors.hpp"
#include "actors/telemetry/log.hpp"
#include "actors/thread_time.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace belay::actors {

namespace {

// Per call of pump(). Calls are milliseconds apart, and peers wait in the backlog meanwhile.
constexpr int accepts_per_pump = 16;
// If no descriptors are left, other connections must be closed first. Retrying at once would keep a
// core busy.
constexpr std::chrono::milliseconds pause_without_descriptors{500};
constexpr std::size_t read_step = 8u << 10;

} // namespace

pending_connections::pending_connections(int listener, pending_limits limits,
                                         std::function<tls::credentials_ptr()> credentials)
    : listener_(listener), limits_(limits), credentials_(std::move(credentials)) {}

pending_connections::~pending_connections() {
  for (const auto& g : waiting_)
    ::close(g.fd);
}

std::vector<identified_peer> pending_connections::pump(monotonic_time now) {
  now_ = now;
  if (last_pump_ != monotonic_time{}) {
    const auto earned =
        std::chrono::duration_cast<std::chrono::nanoseconds>((now - last_pump_) * limits_.share_of_time);
    for (auto* p : {&for_known_, &for_unverified_})
      p->earn(earned);
  }
  last_pump_ = now;
  accept_some(now);
  std::vector<identified_peer> out;
  // Newest first: unverified peers that fill all pending connections do not delay a member.
  for (auto g = waiting_.begin(); g != waiting_.end();) {
    if (now - g->since > limits_.deadline) {
      refuse(*g, "no hello received in time");
      g = drop(g);
      continue;
    }
    auto& budget = known_.contains(g->address) ? for_known_ : for_unverified_;
    if (budget.overdrawn()) {
      ++g;
      continue;
    }
    const auto begun = thread_time();
    const auto now_in = serve(*g, out);
    budget.spend(thread_time() - begun);
    if (now_in == progress::identified) {
      ++identified_count_;
      g = waiting_.erase(g);
    } else if (now_in == progress::gone) {
      g = drop(g);
    } else {
      ++g;
    }
  }
  return out;
}

void pending_connections::left(const std::string& address) {
  if (identified_count_ > 0)
    --identified_count_;
  if (auto it = by_address_.find(address); it != by_address_.end() && --it->second == 0)
    by_address_.erase(it);
}

// ---- accepting

void pending_connections::accept_some(monotonic_time now) {
  arrived_ = false;
  if (now < closed_until_)
    return;
  for (int i = 0; i < accepts_per_pump; ++i) {
    socket_endpoint from;
    from.size = sizeof from.bytes;
    const int fd =
        accept4(listener_, reinterpret_cast<sockaddr*>(&from.bytes), &from.size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == ECONNABORTED || errno == EINTR)
        continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) { // EMFILE, ENFILE, ENOBUFS, ENOMEM
        closed_until_ = now + pause_without_descriptors;
        if (log_limit_.may_write("accept", now))
          log::warn("peer_link", "accepting of peer connections paused", {{"reason", std::strerror(errno)}});
      }
      return;
    }
    arrived_ = true;
    if (!leaves_spare_descriptors(fd)) {
      ::close(fd);
      closed_until_ = now + pause_without_descriptors;
      if (log_limit_.may_write("descriptors", now))
        log::warn("peer_link", "accepting of peer connections paused",
                  {{"reason", "file descriptors are nearly used up; the remaining ones are reserved for the log"},
                   {"advice", "raise the limit (ulimit -n, LimitNOFILE)"}});
      return;
    }
    auto address = host_text(from);
    if (const auto* limit = limit_against(address); limit != nullptr) {
      ::close(fd);
      if (log_limit_.may_write(limit + address, now))
        log::warn("peer_link", "connection of peer closed: too many connections",
                  {{"address", address}, {"limit", limit}});
      continue;
    }
    ++by_address_[address];
    waiting_.push_front({fd, std::move(address), now, peer_handshake(credentials_())});
  }
}

/// Closes the pending connection that has waited longest: legitimate peers are done within
/// milliseconds. @returns the limit that was reached and cannot be relieved; null: there is room
const char* pending_connections::limit_against(const std::string& address) {
  const auto from_there = by_address_.find(address);
  const auto from_one_max = limits_.per_address_max.now();
  if (from_one_max != 0 && from_there != by_address_.end() && from_there->second >= from_one_max) {
    auto oldest =
        std::find_if(waiting_.rbegin(), waiting_.rend(), [&](const connection& g) { return g.address == address; });
    if (oldest != waiting_.rend())
      drop(std::prev(oldest.base()));
    else if (!close_one_(address, true))
      return "limits.rpc_max_conns_per_client";
  }
  if (connections() < limits_.connections_max)
    return nullptr;
  if (!waiting_.empty())
    drop(std::prev(waiting_.end()));
  else if (!close_one_(address, false))
    return "total of peer connections";
  return nullptr;
}

pending_connections::connection_list::iterator pending_connections::drop(connection_list::iterator g) {
  ::close(g->fd);
  if (auto it = by_address_.find(g->address); it != by_address_.end() && --it->second == 0)
    by_address_.erase(it);
  return waiting_.erase(g);
}

void pending_connections::refuse(const connection& g, const std::string& why) {
  // The line names the address without the port, which carries no information.
  if (!log_limit_.may_write(g.address + why, now_))
    return;
  log::warn("peer_link", "connection to the server port rejected",
            {{"address", g.address}, {"reason", why}, {"refusals_not_logged", log_limit_.take_suppressed()}});
}

// ---- a pending connection

pending_connections::progress pending_connections::serve(connection& g, std::vector<identified_peer>& out) {
  char bytes[read_step];
  const auto n = ::recv(g.fd, bytes, sizeof bytes, MSG_DONTWAIT);
  if (n < 0)
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? progress::waits : progress::gone;
  if (n == 0) // scanners and load balancers' probes do that; a dialler that rejects us gives a reason first
    return progress::gone;
  auto fed = g.handshake.feed({bytes, static_cast<std::size_t>(n)});
  // At most a few KiB into an empty socket; a connection that does not accept them is not a peer's.
  if (const auto answer = g.handshake.take_answer(); !answer.empty())
    (void)send_now(g.fd, answer);
  if (!fed) {
    refuse(g, fed.error());
    return progress::gone;
  }
  if (!*fed)
    return progress::waits;
  auto& came = **fed;
  out.push_back({g.fd, g.address, std::move(came.channel), std::move(came.hello), std::move(came.after_hello)});
  return progress::identified;
}

} // namespace belay::actors
