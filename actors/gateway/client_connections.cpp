#include "actors/gateway/client_connections.hpp"

#include "actors/telemetry/log.hpp"
#include "protocol/base/check.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/http/network.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace belay::actors {

namespace {

// File descriptors left for log segments, checkpoints and peers.
constexpr std::size_t descriptors_reserved = 256;
// One in this many connections is closed at once, if idle.
constexpr std::size_t share_that_gives_way = 64;
constexpr std::chrono::seconds logged_again_after{10};

} // namespace

std::size_t connections_allowed() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return 1u << 20;
  const auto all = static_cast<std::size_t>(limit.rlim_cur);
  return all - std::min(descriptors_reserved, all / 4);
}

client_connections::client_connections(connection_host& host, const connection_limits& limits,
                                       std::shared_ptr<client_admission> admission, metrics& m)
    : host_(host), limits_(limits), metrics_(m), admission_(std::move(admission)) {}

std::shared_ptr<handshake_limiter> client_connections::limiter(boost::asio::io_context& loop) {
  if (limiter_ == nullptr)
    limiter_ = std::make_shared<handshake_limiter>(loop, limits_.handshake_share);
  return limiter_;
}

void client_connections::listen(boost::asio::io_context& loop, listening_sockets sockets) {
  for (auto& s : sockets.release()) {
    const bool secure = s.https;
    PRECONDITION(!secure || https_ != nullptr);
    auto l =
        std::make_shared<http_listener>(loop, std::move(s), [this, &loop, secure](int fd, const std::string& address) {
          accepted(loop, fd, address, secure);
        });
    l->start();
    listeners_.push_back(std::move(l));
  }
}

void client_connections::stop_listening() {
  for (const auto& l : listeners_)
    l->stop();
  listeners_.clear();
}

void client_connections::accepted(boost::asio::io_context& loop, int fd, const std::string& address, bool https) {
  accepted_connection c{fd, admission_->admit(address), https};
  if (c.address == nullptr && admission_->full() && close_one())
    c.address = admission_->admit(address);
  if (c.address == nullptr) {
    metrics_.connection_refused();
    ::close(fd);
  } else if (!others_ || !others_(c))
    take(loop, c);
}

void client_connections::take(boost::asio::io_context& loop, const accepted_connection& c) {
  auto tls = c.https ? std::make_unique<tls_stream>(limiter(loop), https_->now(), host_.now()) : nullptr;
  add(std::make_shared<http_connection>(host_, limits_, c.fd, c.address, std::move(tls))).start();
}

void client_connections::reject(const accepted_connection& c) {
  ::close(c.fd);
  admission_->leave(*c.address);
}

void client_connections::take(boost::asio::io_context& loop, client_agent_connection c) {
  const auto* kept_address = admission_->admit(c.address);
  if (kept_address == nullptr) {
    metrics_.connection_refused();
    ::close(c.fd);
    return;
  }
  std::unique_ptr<tls_stream> tls;
  if (c.channel)
    tls = std::make_unique<tls_stream>(limiter(loop), std::make_unique<client_agent_channel>(std::move(*c.channel)),
                                       host_.now());
  add(std::make_shared<http_connection>(host_, limits_, c.fd, kept_address, std::move(tls),
                                        std::make_unique<const http::client_agent>(std::move(c.who))))
      .start(c.after_hello);
}

http_connection& client_connections::add(std::shared_ptr<http_connection> c) {
  c->slot = list_.size();
  list_.push_back(std::move(c));
  count();
  return *list_.back();
}

void client_connections::remove(http_connection& c) {
  const auto slot = c.slot;
  list_.back()->slot = slot;
  std::swap(list_[slot], list_.back());
  const auto keep = std::move(list_.back());
  list_.pop_back();
  count();
  admission_->leave(c.address());
}

void client_connections::count() {
  metrics_.connections(counted_, list_.size());
  counted_ = list_.size();
}

void client_connections::sweep(monotonic_time now) {
  for (auto i = list_.size(); i-- > 0;) {
    if (i >= list_.size()) // closing one may have closed others
      continue;
    const auto c = list_[i];
    c->sweep(now);
  }
}

void client_connections::shed() {
  if (shedding_) // what is closed here changes `held`
    return;
  shedding_ = true;
  while (host_.held.exceeded() && !list_.empty()) {
    const auto most = *std::max_element(list_.begin(), list_.end(),
                                        [](const auto& a, const auto& b) { return a->held_bytes() < b->held_bytes(); });
    const auto before = most->held_bytes();
    metrics_.connection_shed();
    if (log_limit_.may_write("shed", host_.now()))
      log::warn("http_gateway", "limits.http_max_bytes_in_flight exceeded: connection with the most bytes closed",
                {{"client", most->address()},
                 {"held_bytes", before},
                 {"advice", "request less at once, or raise limits.http_max_bytes_in_flight"}});
    most->shed();
    if (most->held_bytes() >= before)
      most->close();
  }
  shedding_ = false;
}

/// A few at a time, so that one scan of all connections serves many new ones.
bool client_connections::close_one() {
  struct idle_one {
    monotonic_time since;
    std::shared_ptr<http_connection> connection;
  };
  const auto counts = admission_->networks();
  std::vector<idle_one> oldest;
  std::string network;
  std::size_t most = 0;
  for (const auto& c : list_) {
    const auto since = c->idle_since();
    if (!since || c->address().empty())
      continue;
    auto own = http::network_of(c->address());
    const auto known = counts.find(own);
    const auto count = known != counts.end() ? known->second : 0;
    if (count > most || (count == most && own < network)) {
      most = count;
      network = std::move(own);
      oldest.clear();
    } else if (own != network) {
      continue;
    }
    oldest.push_back({*since, c});
  }
  if (oldest.empty())
    return false;
  PROBE("gateway: idle connections give way");
  const auto closed = std::min(oldest.size(), std::max<std::size_t>(1, list_.size() / share_that_gives_way));
  std::partial_sort(oldest.begin(), oldest.begin() + static_cast<std::ptrdiff_t>(closed), oldest.end(),
                    [](const idle_one& a, const idle_one& b) { return a.since < b.since; });
  for (std::size_t i = 0; i < closed; ++i) {
    metrics_.connection_shed();
    oldest[i].connection->close();
  }
  log_space_freed(network, most, closed);
  return true;
}

void client_connections::log_space_freed(const std::string& network, std::size_t connections, std::size_t closed) {
  given_up_unlogged_ += closed;
  const auto now = host_.now();
  if (space_reported_at_ && now - *space_reported_at_ < logged_again_after)
    return;
  space_reported_at_ = now;
  log::warn("http_gateway", "connection limit reached: oldest idle connections closed",
            {{"address", network},
             {"connections", connections},
             {"closed", std::exchange(given_up_unlogged_, 0)},
             {"advice", "raise the limit of open files, or lower limits.http_max_conns_per_client"}});
}

void client_connections::finish(const std::string& text) {
  const auto all = list_;
  for (const auto& c : all)
    c->finish(text);
}

bool client_connections::idle() const {
  return std::all_of(list_.begin(), list_.end(), [](const auto& c) { return c->idle(); });
}

void client_connections::close_all() {
  while (!list_.empty()) {
    const auto c = list_.back();
    c->close();
  }
  if (limiter_ != nullptr)
    limiter_->stop();
  limiter_.reset(); // the loop may end before this object does
}

} // namespace belay::actors
