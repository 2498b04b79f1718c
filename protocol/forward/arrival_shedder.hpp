#pragma once
// Which requests are refused when more come than one thread can read and answer. They wait in the kernel then, before anybody can count
// them (protocol/forward/load_shedder.hpp counts what was read), and all of them alike. The signal is a probe that waits as they do;
// what is refused is a share of them, since how many wait is not known. No clock: the caller brings times.

#include "protocol/base/random.hpp"
#include "protocol/forward/load_shedder.hpp"

#include <array>
#include <cstddef>
#include <optional>

namespace belay::forward {

/// The share that is taken is fitted to what can be answered within delay_max. Writes make room first: reads are refused
/// only when all writes are.
class arrival_shedder {
public:
  explicit arrival_shedder(shedding_rules r) : rules_(r) {}

  /// A request was read. @returns false: it should be refused
  bool admits(request_class c);

  /// A probe begins to wait behind the requests that are there. @pre the one before it was served
  void begin_probe(local_time now);
  /// Called with requests: one that waits for too long is known to before it is served.
  /// @param unfinished load of the requests that were read and not answered
  void look(local_time now, std::size_t unfinished);
  void probe_served(local_time now, std::size_t unfinished);

  bool refusing() const { return share_.has_value(); }
  /// Of writes and reads, how many are taken: above 0, at most 1.
  double share() const { return share_.value_or(1); }

private:
  void judge(std::chrono::nanoseconds delay);
  void divide();

  shedding_rules rules_;
  local_time since_{}, next_look_{};
  bool waits_ = false;              ///< a probe
  bool judged_ = false;             ///< before it was served
  std::size_t came_with_probe_ = 0; ///< while it waited
  // Since a delay was judged:
  std::array<std::size_t, 3> came_{}; ///< by class
  bool refused_ = false;
  int late_ = 0; ///< delays in a row
  std::optional<double> share_;
  std::array<double, 3> refused_share_{}; ///< by class
  seeded_random random_{1};               ///< who is refused must not be the same one every time
};

} // namespace belay::forward
