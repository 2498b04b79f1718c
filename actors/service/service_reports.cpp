#include "actors/service/service_reports.hpp"

#include "actors/telemetry/log.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace belay::actors {

namespace {

std::string taken(const char* name) {
  const char* value = std::getenv(name);
  std::string out = value != nullptr ? value : "";
  ::unsetenv(name);
  return out;
}

/// A whole number without a sign; 0 if it is anything else.
std::uint64_t number_in(const std::string& text) {
  std::uint64_t out = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), out);
  return wrong == std::errc{} && end == text.data() + text.size() ? out : 0;
}

// Without a watchdog: `systemctl status` needs no fresher data.
constexpr std::chrono::seconds status_period{10};
constexpr std::chrono::hours no_report_needed{1};

std::int64_t ms(service_reports::duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

} // namespace

// ---- the interface of the manager

service_environment service_environment::take() {
  service_environment out;
  out.socket = taken("NOTIFY_SOCKET");
  const auto watchdog = number_in(taken("WATCHDOG_USEC"));
  const auto whose = taken("WATCHDOG_PID");
  // No watchdog is longer than a day; the limit keeps sums of times from overflowing.
  constexpr std::uint64_t longest = 24ull * 3600 * 1000 * 1000;
  if (watchdog > 0 && (whose.empty() || number_in(whose) == static_cast<std::uint64_t>(::getpid())))
    out.watchdog = std::chrono::microseconds(static_cast<std::int64_t>(std::min(watchdog, longest)));
  return out;
}

result<service_socket> service_socket::open(const std::string& address) {
  service_socket out;
  if (address.empty())
    return out;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (address.size() < 2 || (address[0] != '/' && address[0] != '@'))
    return failure{"NOTIFY_SOCKET is neither a path nor an abstract name: " + address};
  if (address.size() >= sizeof name.sun_path)
    return failure{"NOTIFY_SOCKET is too long: " + address};
  std::memcpy(name.sun_path, address.data(), address.size());
  if (address[0] == '@')
    name.sun_path[0] = '\0';
  // A path ends with a zero byte, an abstract name with its last character.
  const auto length = offsetof(sockaddr_un, sun_path) + address.size() + (address[0] == '/' ? 1 : 0);
  out.address_.assign(reinterpret_cast<const char*>(&name), length);
  out.fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (out.fd_ < 0)
    return failure{std::string("no socket for notifications: ") + std::strerror(errno)};
  const timeval timeout{1, 0};
  ::setsockopt(out.fd_, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  return out;
}

service_socket::~service_socket() {
  if (fd_ >= 0)
    ::close(fd_);
}

service_socket::service_socket(service_socket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), address_(std::move(other.address_)) {}

status service_socket::notify(std::string_view lines) const {
  if (fd_ < 0)
    return done{};
  const auto* to = reinterpret_cast<const sockaddr*>(address_.data());
  ssize_t sent = 0;
  do {
    sent = ::sendto(fd_, lines.data(), lines.size(), MSG_NOSIGNAL, to, static_cast<socklen_t>(address_.size()));
  } while (sent < 0 && errno == EINTR);
  if (sent < 0)
    return failure{std::strerror(errno)};
  return done{};
}

// ---- progress

watchdog::duration watchdog::part::stalled_for(std::uint64_t seen, time now) {
  if (seen != count) {
    count = seen;
    moved = now;
  }
  return now - moved;
}

watchdog::decision watchdog::look(progress_counts seen, time now) {
  decision v;
  v.http = http_.stalled_for(seen.http, now);
  v.raft = raft_.stalled_for(seen.raft, now);
  v.http_moves = v.http < limit_ / 2;
  v.raft_moves = v.raft < limit_ / 2;
  return v;
}

// ---- reports

service_reports service_reports::from_environment() {
  const auto given = service_environment::take();
  auto to = service_socket::open(given.socket);
  if (to)
    return {std::move(*to), given.watchdog};
  log::warn("node", "service manager not notified", {{"reason", to.error()}});
  return {service_socket(), std::chrono::microseconds(0)};
}

void service_reports::notify(const std::string& lines) {
  const auto s = to_.notify(lines);
  if (!s && !complained_)
    log::warn("node", "notification of the service manager failed", {{"reason", s.error()}});
  complained_ = !s;
}

std::string service_reports::status_line() const {
  std::string out = "STATUS=";
  switch (numbers_->standing.load(std::memory_order_relaxed)) {
  case cluster_standing::leads:
    out += "Leads the cluster";
    break;
  case cluster_standing::follows:
    out += "Follows a leader";
    break;
  case cluster_standing::alone:
    out += "Has no leader";
    break;
  case cluster_standing::relays:
    return out + "Client agent, servers reached" + last_reload_ + "\n";
  case cluster_standing::cut_off:
    return out + "Client agent, no server reached" + last_reload_ + "\n";
  }
  out += "; index " + std::to_string(numbers_->applied_index.load(std::memory_order_relaxed));
  return out + last_reload_ + "\n";
}

void service_reports::ready(std::shared_ptr<const vitals> numbers, time now) {
  numbers_ = std::move(numbers);
  if (!to_.wanted())
    return;
  if (watchdog_.count() > 0)
    watch_.emplace(watchdog_, now);
  next_ = now;
  status_sent_ = status_line();
  notify("READY=1\n" + status_sent_);
}

void service_reports::reloading(time now) {
  // From version 253 on (Type=notify-reload) systemd compares this with its own time:
  // CLOCK_MONOTONIC, which is this clock.
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
  notify("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(us) + "\nSTATUS=Reloads its configuration\n");
}

void service_reports::reloaded(bool taken_over, time now) {
  last_reload_ = taken_over ? "" : "; the last reload failed: see the log";
  if (!to_.wanted())
    return;
  status_sent_ = status_line();
  notify("READY=1\n" + status_sent_);
  look(now);
}

void service_reports::stopping() {
  notify("STOPPING=1\nSTATUS=Completes pending requests and stops\n");
}

service_reports::duration service_reports::until_due(time now) const {
  if (!to_.wanted())
    return no_report_needed;
  return next_ > now ? next_ - now : duration::zero();
}

void service_reports::look(time now) {
  if (!to_.wanted() || now < next_)
    return;
  next_ = now + (watch_ ? watch_->period() : duration(status_period));
  std::string lines;
  if (watch_) {
    const auto http = numbers_->fewest_http_rounds();
    const auto v =
        watch_->look({http, numbers_->has_raft ? numbers_->raft_rounds.load(std::memory_order_relaxed) : http}, now);
    log_stall(v);
    if (v.feed())
      lines = "WATCHDOG=1\n";
  }
  if (auto s = status_line(); s != status_sent_) {
    lines += s;
    status_sent_ = std::move(s);
  }
  if (!lines.empty())
    notify(lines);
}

void service_reports::log_stall(const watchdog::decision& v) {
  if (v.feed() == fed_)
    return;
  fed_ = v.feed();
  if (fed_)
    log::warn("node", "all components run again; watchdog notifications resumed");
  else
    log::error("node", "component stalled; watchdog notifications stopped",
               {{"component", v.http_moves                          ? "raft"
                              : v.raft_moves || !numbers_->has_raft ? "http"
                                                                    : "http and raft"},
                {"http_ms", ms(v.http)},
                {"raft_ms", ms(v.raft)}});
}

// ---- its thread

void service_reporter::ready(std::shared_ptr<const vitals> numbers) {
  std::lock_guard hold(busy_);
  reports_.ready(std::move(numbers), std::chrono::steady_clock::now());
  if (!reports_.wanted())
    return;
  thread_ = std::thread([this] { run(); });
  pthread_setname_np(thread_.native_handle(), "service");
}

void service_reporter::run() {
  std::unique_lock hold(busy_);
  while (!ended_) {
    reports_.look(std::chrono::steady_clock::now());
    over_.wait_for(hold, reports_.until_due(std::chrono::steady_clock::now()));
  }
}

void service_reporter::reloading() {
  std::lock_guard hold(busy_);
  reports_.reloading(std::chrono::steady_clock::now());
}

void service_reporter::reloaded(bool taken_over) {
  std::lock_guard hold(busy_);
  reports_.reloaded(taken_over, std::chrono::steady_clock::now());
}

void service_reporter::stopping() {
  {
    std::lock_guard hold(busy_);
    if (!ended_)
      reports_.stopping();
  }
  end();
}

void service_reporter::end() {
  {
    std::lock_guard hold(busy_);
    ended_ = true;
  }
  over_.notify_all();
  if (thread_.joinable())
    thread_.join();
}

} // namespace belay::actors
