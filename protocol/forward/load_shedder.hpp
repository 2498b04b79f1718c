#pragma once
// Which requests are refused when more come than can be answered. The signal is the time that requests wait, as in CoDel ("Controlling
// Queue Delay", Nichols and Jacobson, ACM Queue 2012): a queue that is long for a moment is what queues are for; one in which even
// the luckiest waits too long, for longer than a moment, only grows. No clock: the caller brings times.

#include "protocol/forward/requests.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace belay::forward {

/// In the order in which they are refused.
enum class request_class : std::uint8_t {
  write, ///< begins something: puts, locks, new sessions, registrations
  read,
  vital, ///< keeps or ends what is there: renewals, releases, deregistrations; operators' questions. Never refused here
};

struct shedding_rules {
  /// What every request may wait. Zero: nothing is ever refused. The default is short beside the shortest TTL of a session, and long
  /// beside what a commit takes on a slow disk.
  std::chrono::nanoseconds delay_max{std::chrono::milliseconds(500)};
  /// With at most so much load unfinished nothing is refused, however long it takes: so many clients that wait for their answers before
  /// they ask again are no overload.
  std::size_t load_min = 1024;
};

/// By what the limit of something changes that waits so long: so much less or more can be finished in time (Little's law), but a measurement
/// is not taken for more than half or a quarter more.
double step_to(std::chrono::nanoseconds delay_max, std::chrono::nanoseconds delay);

/// So many measurements in a row have to be too long before anything is refused. They do not begin when trouble does: after an election or a
/// pause of the disk the first of them may have seen nothing but what had to wait for that.
inline constexpr int late_before_shedding = 2;

/// Says what is refused as a limit of unfinished load. While it lasts, the limit is fitted to what can be finished within delay_max
/// (Little's law: what waits is what is finished in the time of waiting).
class load_shedder {
public:
  /// A request waits for one of them most of the time.
  enum class stage : std::uint8_t { log, reading };

  /// Load is counted in requests; one with many bytes counts as several. 1,024 of them are the bytes that the log takes at one time
  /// (raft::limits::uncommitted_bytes_max).
  static constexpr std::size_t unit_bytes = 64 << 10;
  static constexpr std::size_t load_of(std::size_t bytes) { return 1 + bytes / unit_bytes; }

  /// How long a state lasts before it counts.
  static constexpr std::chrono::milliseconds window{250};

  explicit load_shedder(shedding_rules r) : rules_(r) {}

  /// A request was finished that waited so long.
  void waited(stage s, std::chrono::nanoseconds delay);
  /// Called with requests and now and then: closes a window when its time is over.
  /// @param load unfinished
  void look(local_time now, std::size_t load);

  /// @returns false: it should be refused
  bool admits(request_class c, std::size_t load);

  /// Unfinished load above which writes are refused; nullopt: none are.
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
