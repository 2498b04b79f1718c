#pragma once
// Where this node is: Vivaldi (Dabek et al., Vivaldi: A Decentralized Network Coordinate System, SIGCOMM 2004, sections 2.5 and 5.4) with
// what Serf adds: a median of the last round trips against single late ones, the adjustment, and a little gravity, so that all coordinates
// together do not drift away (Ledlie et al., Network Coordinates in the Wild, NSDI 2007). Numbers are Serf's defaults.

#include "protocol/base/ids.hpp"
#include "protocol/base/random.hpp"
#include "protocol/coordinates/coordinate.hpp"

#include <array>
#include <chrono>
#include <map>
#include <vector>

namespace belay::coordinates {

/// Serf takes no longer round trip for one.
inline constexpr std::chrono::seconds round_trip_max{10};

class estimator {
public:
  explicit estimator(std::uint64_t seed) : chance_(seed) {}

  const coordinate& own() const { return own_; }

  /// A round trip to `peer`, which says that it is at `there`.
  /// @returns false: it is not believed, and nothing has changed
  bool measured(node_id peer, const coordinate& there, std::chrono::nanoseconds round_trip);
  /// It is gone: what was measured before says nothing about one that comes back.
  void forget(node_id peer) { latest_.erase(peer); }

  /// The median of that round trip and those before it, in seconds. Part of measured().
  double filtered(node_id peer, double seconds);

private:
  vector anywhere();
  void follow(const coordinate& there, double seconds);
  void adjust(const coordinate& there, double seconds);
  void fall_to_origin();

  static constexpr std::size_t window = 20; ///< Serf's AdjustmentWindowSize

  seeded_random chance_;
  coordinate own_;
  std::map<node_id, std::vector<double>> latest_; ///< round trips of each peer, the oldest first; seconds
  std::array<double, window> missed_by_{};        ///< what the last estimates were short of; seconds
  std::size_t next_missed_ = 0;
};

} // namespace belay::coordinates
