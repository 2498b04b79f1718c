#include "actors/gateway/client_connections.hpp"

#include "protocol/base/check.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace belay::actors {

namespace {

// File descriptors left for log segments, checkpoints and peers.
constexpr std::size_t descriptors_reserved = 256;

std::size_t connections_allowed() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return 1u << 20;
  const auto all = static_cast<std::size_t>(limit.rlim_cur);
  return all - std::min(descriptors_reserved, all / 4);
}

} // namespace

client_connections::client_connections(http_front& front, const connection_limits& limits, std::size_t connections_max,
                                       live_limit per_address_max, metrics& m)
    : front_(front), limits_(limits), metrics_(m),
      admission_(connections_max != 0 ? connections_max : connections_allowed(), std::move(per_address_max)) {}

void client_connections::listen(boost::asio::io_context& loop, listening_sockets sockets,
                                std::shared_ptr<tls::https_credential_store> https) {
  https_ = std::move(https);
  for (auto& s : sockets.release()) {
    const bool secure = s.https;
    PRECONDITION(!secure || https_ != nullptr);
    if (secure && desk_ == nullptr)
      desk_ = std::make_shared<handshake_desk>(loop, limits_.handshake_share);
    auto l = std::make_shared<http_listener>(
        loop, std::move(s), [this, secure](int fd, const std::string& address) { accepted(fd, address, secure); });
    l->start();
    listeners_.push_back(std::move(l));
  }
}

void client_connections::stop_listening() {
  for (const auto& l : listeners_)
    l->stop();
  listeners_.clear();
}

void client_connections::accepted(int fd, const std::string& address, bool https) {
  const auto* kept_address = admission_.admit(address);
  if (kept_address == nullptr) {
    metrics_.connection_refused();
    ::close(fd);
    return;
  }
  auto tls = https ? std::make_unique<tls_stream>(desk_, https_->now(), front_.now()) : nullptr;
  add(std::make_shared<http_connection>(front_, limits_, fd, kept_address, std::move(tls))).start();
}

void client_connections::take(boost::asio::io_context& loop, client_agent_connection c) {
  const auto* kept_address = admission_.admit(c.address);
  if (kept_address == nullptr) {
    metrics_.connection_refused();
    ::close(c.fd);
    return;
  }
  std::unique_ptr<tls_stream> tls;
  if (c.channel) {
    if (desk_ == nullptr)
      desk_ = std::make_shared<handshake_desk>(loop, limits_.handshake_share);
    tls = std::make_unique<tls_stream>(desk_, std::make_unique<client_agent_channel>(std::move(*c.channel)),
                                       front_.now());
  }
  add(std::make_shared<http_connection>(front_, limits_, c.fd, kept_address, std::move(tls),
                                        std::make_unique<const http::client_agent>(std::move(c.who))))
      .start(c.said);
}

http_connection& client_connections::add(std::shared_ptr<http_connection> c) {
  c->place = list_.size();
  list_.push_back(std::move(c));
  metrics_.connections(list_.size());
  return *list_.back();
}

void client_connections::remove(http_connection& c) {
  const auto place = c.place;
  list_.back()->place = place;
  std::swap(list_[place], list_.back());
  const auto keep = std::move(list_.back());
  list_.pop_back();
  metrics_.connections(list_.size());
  admission_.leave(c.address());
}

void client_connections::sweep(monotonic_time now) {
  for (auto i = list_.size(); i-- > 0;) {
    if (i >= list_.size()) // others were closed on the way
      continue;
    const auto c = list_[i];
    c->sweep(now);
  }
}

void client_connections::shed() {
  if (shedding_) // what is done here changes what is held
    return;
  shedding_ = true;
  while (front_.held.exceeded() && !list_.empty()) {
    const auto most = *std::max_element(list_.begin(), list_.end(),
                                        [](const auto& a, const auto& b) { return a->held_bytes() < b->held_bytes(); });
    const auto before = most->held_bytes();
    metrics_.connection_shed();
    most->shed();
    if (most->held_bytes() >= before)
      most->close();
  }
  shedding_ = false;
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
  if (desk_ != nullptr)
    desk_->stop();
  desk_.reset(); // the loop may end before this object does
}

} // namespace belay::actors
