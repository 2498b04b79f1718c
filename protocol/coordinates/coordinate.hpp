#pragma once
// A place in the network: how far two nodes are from each other, as round-trip time, without that they ever measured it. The form and the
// arithmetic are those of HashiCorp's Serf (package coordinate), whose answers Consul's clients read: a point in eight dimensions,
// a height above it (Dabek et al., Vivaldi, SIGCOMM 2004, section 5.4), and an adjustment (Lee et al., On Suitability of Euclidean
// Embedding, ToN 2010, section VI).

#include <array>
#include <chrono>
#include <cstddef>
#include <string>

namespace belay::coordinates {

/// Serf's Dimensionality: beyond 7 nothing improved (Ledlie et al., Network Coordinates in the Wild, NSDI 2007).
inline constexpr std::size_t dimensions = 8;
/// Serf's VivaldiErrorMax: of a node that has measured nothing.
inline constexpr double error_max = 1.5;
/// Serf's HeightMin, in seconds.
inline constexpr double height_min = 10.0e-6;

using vector = std::array<double, dimensions>;

/// All in seconds but `error`. A new one is the origin.
struct coordinate {
  vector vec{};
  double error = error_max; ///< how little it can be relied on; no unit
  double adjustment = 0;
  double height = height_min;

  bool operator==(const coordinate&) const = default;
};

/// No part of it is infinite or no number.
bool is_valid(const coordinate& c);

/// Without adjustments, in seconds.
double raw_distance(const coordinate& a, const coordinate& b);
/// The round-trip time to be expected. Serf counts whole nanoseconds, too. Never beyond 100 years, whatever the coordinates say.
/// @pre both are valid
std::chrono::nanoseconds distance(const coordinate& a, const coordinate& b);

/// `c` after `force` (seconds) has pushed it away from `other`, or towards it if it is negative.
/// @param anywhere a direction, for two that are in the same place; it need not have length 1
coordinate pushed(coordinate c, double force, const coordinate& other, const vector& anywhere);

} // namespace belay::coordinates
