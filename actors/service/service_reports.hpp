#pragma once
// Notifies a service manager (systemd): that the server is ready, reloads or stops, and its role in
// the cluster. While its parts make progress, the manager also gets a watchdog signal.
// Why libsystemd is not used: docs/internals/adr/0014-notifications-without-libsystemd.md.

#include "actors/telemetry/vitals.hpp"
#include "protocol/base/result.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace belay::actors {

/// The variables in the environment for this process.
struct service_environment {
  std::string socket; ///< NOTIFY_SOCKET; empty: no notifications
  /// WATCHDOG_USEC, if it is meant for this process; 0: no watchdog notifications.
  std::chrono::microseconds watchdog{0};

  /// Also removes the variables, so that scripts of checks do not notify on behalf of the server.
  /// @pre there is one thread only
  static service_environment take();
};

class service_socket {
public:
  /// @param address an absolute path, or `@` and an abstract name; empty: nothing is sent
  /// @returns a failure if the address cannot be one of a Unix socket
  static result<service_socket> open(const std::string& address);

  service_socket() = default;
  ~service_socket();
  service_socket(service_socket&& other) noexcept;

  bool wanted() const { return fd_ >= 0; }
  /// Lines of NAME=value, separated by line breaks. Blocks at most a second if the manager is busy.
  status notify(std::string_view lines) const;

private:
  int fd_ = -1;
  std::string address_; ///< a sockaddr_un, without its unused bytes
};

/// Progress counters of the parts that must not stall, since the start; they never fall.
struct progress_counts {
  std::uint64_t http = 0; ///< HTTP sockets were polled, and requests handled
  std::uint64_t raft = 0;
};

/// A part is stalled if its counter has not risen for half of the watchdog's time. The other half
/// is the manager's: a stalled server ends after 1 to 1.5 times that. All times are from one
/// monotonic clock.
class watchdog {
public:
  using time = std::chrono::steady_clock::time_point;
  using duration = std::chrono::steady_clock::duration;

  /// How long each part has made no progress.
  struct decision {
    duration http{}, raft{};
    bool http_moves = true, raft_moves = true;
    bool feed() const { return http_moves && raft_moves; }
  };

  /// @param limit the watchdog's time, above 0; counters rise 4 times a second: not below 2 s
  watchdog(duration limit, time now) : limit_(limit), http_{0, now}, raft_{0, now} {}

  /// Required polling interval.
  duration period() const { return limit_ / 4; }
  /// @pre now is not smaller than before
  decision look(progress_counts seen, time now);

private:
  struct part {
    std::uint64_t count;
    time moved;
    duration stalled_for(std::uint64_t seen, time now);
  };

  duration limit_;
  part http_, raft_;
};

/// Decides what is sent, and when. Used by one thread at a time, which waits for until_due() and
/// calls look().
class service_reports {
public:
  using time = watchdog::time;
  using duration = watchdog::duration;

  /// Reads the environment. An invalid address is logged, and nothing is sent.
  /// @pre there is one thread only
  static service_reports from_environment();
  service_reports(service_socket to, std::chrono::microseconds watchdog) : to_(std::move(to)), watchdog_(watchdog) {}

  /// The server serves from now on; `numbers` has its state.
  void ready(std::shared_ptr<const vitals> numbers, time now);
  void reloading(time now);
  void reloaded(bool taken_over, time now);
  void stopping();

  bool wanted() const { return to_.wanted(); }
  /// Time until the next notification, unless something happens.
  duration until_due(time now) const;
  /// Sends what is due, if anything.
  void look(time now);

private:
  std::string status_line() const;
  void notify(const std::string& lines);
  void log_stall(const watchdog::decision& v);

  service_socket to_;
  std::chrono::microseconds watchdog_;
  std::shared_ptr<const vitals> numbers_;
  std::optional<watchdog> watch_; ///< none: no watchdog
  time next_{};
  std::string last_reload_; ///< its result, if it failed
  std::string status_sent_; ///< the last status
  bool fed_ = true;
  bool complained_ = false; ///< logged that notifications fail
};

/// Sends notifications on its own thread, so that nothing slow (a reload, leaving the cluster)
/// delays the watchdog signal. Without a service manager there is no such thread.
class service_reporter {
public:
  explicit service_reporter(service_reports reports) : reports_(std::move(reports)) {}
  ~service_reporter() { end(); }
  service_reporter(const service_reporter&) = delete;
  service_reporter& operator=(const service_reporter&) = delete;

  /// These do the same as in service_reports. Call ready() once. After stopping() nothing else is
  /// sent.
  void ready(std::shared_ptr<const vitals> numbers);
  void reloading();
  void reloaded(bool taken_over);
  void stopping();

private:
  void run();
  void end();

  std::mutex busy_;
  std::condition_variable over_;
  service_reports reports_;
  bool ended_ = false;
  std::thread thread_;
};

} // namespace belay::actors
