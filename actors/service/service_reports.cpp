#include "actors/service/service_reports.hpp"

#include "actors/telemetry/log.hpp"

namespace belay::actors {

namespace {

// Without a watchdog: `systemctl status` needs no fresher data.
constexpr std::chrono::seconds status_period{10};
constexpr std::chrono::hours no_report_needed{1};

std::int64_t ms(service_reports::duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

} // namespace

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
  notify("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(us) +
         "\n"
         "STATUS=Reloads its configuration\n");
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
  notify("STOPPING=1\n"
         "STATUS=Completes pending requests and stops\n");
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
