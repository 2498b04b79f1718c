#pragma once
// What a service manager is told of a server, and when: that it is ready, reloads or stops, how it stands in its cluster, and, while
// its parts move, that it lives.

#include "actors/service/service_socket.hpp"
#include "actors/service/stall_watch.hpp"
#include "actors/telemetry/vitals.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace belay::actors {

/// For one thread at a time, which asks until_due() and calls look().
class service_reports {
public:
  using time = stall_watch::time;
  using duration = stall_watch::duration;

  /// Takes what stands in the environment. An address that is none is said in the log, and nothing is sent.
  /// @pre there is one thread only
  static service_reports from_environment();
  service_reports(service_socket to, std::chrono::microseconds watchdog) : to_(std::move(to)), watchdog_(watchdog) {}

  /// It serves from now on; `numbers` say how.
  void ready(std::shared_ptr<const vitals> numbers, time now);
  void reloading(time now);
  void reloaded(bool taken_over, time now);
  void stopping();

  bool wanted() const { return to_.wanted(); }
  /// How long nothing is to be told unless something happens.
  duration until_due(time now) const;
  /// Tells what is due, if anything is.
  void look(time now);

private:
  std::string status_line() const;
  void say(const std::string& lines);
  void tell_stall(const stall_watch::verdict& v);

  service_socket to_;
  std::chrono::microseconds watchdog_;
  std::shared_ptr<const vitals> numbers_;
  std::optional<stall_watch> watch_; ///< none: no signs of life are wanted
  time next_{};
  std::string last_reload_; ///< what came of it, if that is not what is expected
  std::string told_;        ///< the last status
  bool fed_ = true;
  bool complained_ = false; ///< that it cannot be told
};

/// Tells on a thread of its own, so that nothing that takes long (a reload, leaving the cluster) keeps signs of life back. Without a service
/// manager there is no such thread.
class service_reporter {
public:
  explicit service_reporter(service_reports reports) : reports_(std::move(reports)) {}
  ~service_reporter() { end(); }
  service_reporter(const service_reporter&) = delete;
  service_reporter& operator=(const service_reporter&) = delete;

  /// As service_reports; `ready` once. After `stopping` nothing else is told.
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
