#pragma once
// What may be expected of a node whose machine stood still with all its clocks: it does not know that time has passed. Leases
// cannot be safe then, and docs/operations.md ("Machines that are paused") says for how long they are not.

#include "sim/run.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace belay::sim {

/// True times. Where nothing ever stands still it says so at no cost.
class standing_clocks {
public:
  /// @param lease_max no lease is longer, by any clock that keeps to the stated bound
  explicit standing_clocks(virtual_time lease_max) : lease_max_(lease_max) {}

  void stops(std::size_t node, virtual_time now) { all_.push_back({node, now, std::nullopt}); }
  /// @returns for how long its clocks stood still; zero: they did not
  virtual_time goes_on(std::size_t node, virtual_time now) {
    const auto it = std::find_if(all_.begin(), all_.end(),
                                 [node](const standing& s) { return s.node == node && !s.to.has_value(); });
    if (it == all_.end())
      return virtual_time::zero();
    it->to = now;
    return now - it->from;
  }

  /// That node may trust a lease that is over.
  bool lease_in_doubt(std::size_t node, virtual_time now) const {
    return std::any_of(all_.begin(), all_.end(),
                       [&](const standing& s) { return s.node == node && s.doubtful(now, now, lease_max_); });
  }
  /// Any node may, at some time between these.
  bool lease_in_doubt_between(virtual_time from, virtual_time to) const {
    return std::any_of(all_.begin(), all_.end(), [&](const standing& s) { return s.doubtful(from, to, lease_max_); });
  }
  /// For how long clocks of nodes that have gone on stood still after that time, one after the other.
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
    std::optional<virtual_time> to; ///< nullopt: it does not go on yet
    bool doubtful(virtual_time begin, virtual_time end, virtual_time lease_max) const {
      return end >= from && (!to || begin <= *to + lease_max);
    }
  };

  virtual_time lease_max_;
  std::vector<standing> all_; ///< by when they began
};

} // namespace belay::sim
