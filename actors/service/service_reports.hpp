#pragma once
// Decides what a service manager is notified of, and when: that the server is ready, reloads or
// stops, and its role in the cluster. While its parts make progress, it also gets a watchdog
// signal.

#include "actors/service/service_socket.hpp"
#include "actors/service/watchdog.hpp"
#include "actors/telemetry/vitals.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace belay::actors {

/// Used by one thread at a time, which waits for until_due() and calls look().
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
