#pragma once
// Estimates this node's coordinate: Vivaldi (Dabek et al., Vivaldi: A Decentralized Network
// Coordinate System, SIGCOMM 2004, 2.5 and 5.4) with Serf's additions: a median of round trips, the
// adjustment, gravity against drift (Ledlie et al., Network Coordinates in the Wild, NSDI 2007).

#include "protocol/base/ids.hpp"
#include "protocol/base/random.hpp"
#include "protocol/coordinates/coordinate.hpp"

#include <array>
#include <chrono>
#include <map>
#include <vector>

namespace belay::coordinates {

/// Serf rejects longer round trips.
inline constexpr std::chrono::seconds round_trip_max{10};

class estimator {
public:
  explicit estimator(std::uint64_t seed) : chance_(seed) {}

  const coordinate& own() const { return own_; }

  /// A round trip to `peer`, which reports its coordinate `there`.
  /// @returns false: it was rejected, and nothing has changed
  bool measured(node_id peer, const coordinate& there, std::chrono::nanoseconds round_trip);
  /// The peer is gone: earlier measurements do not apply to one that returns.
  void forget(node_id peer) { latest_.erase(peer); }

  /// The median of that and earlier round trips, in seconds. Part of measured().
  double filtered(node_id peer, double seconds);

private:
  vector anywhere();
  void follow(const coordinate& there, double seconds);
  void adjust(const coordinate& there, double seconds);
  void fall_to_origin();

  static constexpr std::size_t window = 20; ///< Serf's AdjustmentWindowSize

  seeded_random chance_;
  coordinate own_;
  std::map<node_id, std::vector<double>> latest_; ///< round trips of each peer, oldest first; seconds
  std::array<double, window> missed_by_{};        ///< errors of the last estimates; seconds
  std::size_t next_missed_ = 0;
};

} // namespace belay::coordinates
