#pragma once
// Which requests to reject when overloaded. The signal is the queueing time, as in CoDel
// ("Controlling Queue Delay", Nichols and Jacobson, ACM Queue 2012): a short burst is fine, but if
// even the minimum delay is too long for some time, the queue only grows. The caller passes times.

#include "protocol/forward/requests.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace belay::forward {

/// In the order in which they are rejected.
enum class request_class : std::uint8_t {
  write, ///< starts something: puts, locks, new sessions, registrations
  read,
  vital, ///< keeps or ends something: renewals, releases, deregistrations; operators' requests. Never rejected here
};

struct shedding_rules {
  /// Acceptable delay of a request. Zero: never reject. The default is short compared
  /// to the shortest session TTL, and long compared to a commit on a slow disk.
  std::chrono::nanoseconds delay_max{std::chrono::milliseconds(500)};
  /// Below this unfinished load nothing is rejected, however slow the server is: this many clients
  /// that wait for a response before their next request are not an overload.
  std::size_t load_min = 1024;
};

/// Factor for the limit of something with that delay: what can be finished in time
/// (Little's law). A single measurement changes it by at most a half down or a quarter up.
double step_to(std::chrono::nanoseconds delay_max, std::chrono::nanoseconds delay);

/// Late measurements in a row before anything is rejected. They do not start with the problem.
/// After an election or a disk stall, the first one may include only requests that had to wait for
/// it.
inline constexpr int late_before_shedding = 2;

/// Rejects by a limit of unfinished load. It is adapted to what can be finished within
/// delay_max (Little's law: the queue is the throughput times the waiting time).
class load_shedder {
public:
  /// A request spends most of its waiting in one of them.
  enum class stage : std::uint8_t { log, reading };

  /// Load is counted in requests; large ones count as several. 1,024 of them are the
  /// bytes that the log accepts at one time (raft::limits::uncommitted_bytes_max).
  static constexpr std::size_t unit_bytes = 64 << 10;
  static constexpr std::size_t load_of(std::size_t bytes) { return 1 + bytes / unit_bytes; }

  /// How long a state lasts before it counts.
  static constexpr std::chrono::milliseconds window{250};

  explicit load_shedder(shedding_rules r) : rules_(r) {}

  /// A request was finished after that delay.
  void waited(stage s, std::chrono::nanoseconds delay);
  /// Call with each request, and periodically: closes a window when its time is over.
  /// @param load unfinished
  void look(local_time now, std::size_t load);

  /// @returns false: reject it
  bool admits(request_class c, std::size_t load);

  /// Unfinished load above which writes are rejected; nullopt: none are.
  std::optional<std::size_t> limit() const { return limit_; }

private:
  std::optional<std::chrono::nanoseconds> take_delay();
  std::size_t fitted(std::size_t load, std::chrono::nanoseconds delay) const;

  shedding_rules rules_;
  std::array<std::optional<std::chrono::nanoseconds>, 2> least_; ///< in this window, by stage
  std::optional<local_time> window_began_;
  int late_windows_ = 0; ///< in a row
  bool refused_ = false; ///< in this window
  std::optional<std::size_t> limit_;
};

} // namespace belay::forward
