#pragma once
// What to expect of a node whose machine stopped with all its clocks: it cannot notice that time
// passed. Its leases are unsafe for that time (docs/operate/operations.md, "Machines that are
// paused").

#include "sim/run.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace belay::sim {

/// All times are true times. Costs nothing in runs in which no machine stops.
class paused_clocks {
public:
  /// @param lease_max longer than any lease, by any clock that keeps the stated bound
  explicit paused_clocks(virtual_time lease_max) : lease_max_(lease_max) {}

  void stops(std::size_t node, virtual_time now) { all_.push_back({node, now, std::nullopt}); }
  /// @returns how long its clocks were stopped; zero: they were not
  virtual_time goes_on(std::size_t node, virtual_time now) {
    const auto it = std::find_if(all_.begin(), all_.end(),
                                 [node](const standing& s) { return s.node == node && !s.to.has_value(); });
    if (it == all_.end())
      return virtual_time::zero();
    it->to = now;
    return now - it->from;
  }

  /// Whether that node may rely on a lease that has expired.
  bool lease_in_doubt(std::size_t node, virtual_time now) const {
    return std::any_of(all_.begin(), all_.end(),
                       [&](const standing& s) { return s.node == node && s.doubtful(now, now, lease_max_); });
  }
  /// Whether any node may, at some time in that interval.
  bool lease_in_doubt_between(virtual_time from, virtual_time to) const {
    return std::any_of(all_.begin(), all_.end(), [&](const standing& s) { return s.doubtful(from, to, lease_max_); });
  }
  /// How long clocks of resumed nodes were stopped after that time, in sum.
  virtual_time stood_since(virtual_time from) const {
    virtual_time sum{0};
    for (const auto& s : all_)
      if (s.to && *s.to > from)
        sum += *s.to - std::max(s.from, from);
    return sum;
  }

private:
  struct standing {
    std::size_t node = 0;
    virtual_time from{0};
    std::optional<virtual_time> to; ///< nullopt: still stopped
    bool doubtful(virtual_time begin, virtual_time end, virtual_time lease_max) const {
      return end >= from && (!to || begin <= *to + lease_max);
    }
  };

  virtual_time lease_max_;
  std::vector<standing> all_; ///< by when they began
};

} // namespace belay::sim
