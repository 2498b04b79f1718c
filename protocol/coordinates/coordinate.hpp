#pragma once
// Network coordinates: estimate the round-trip time between two nodes that have never measured it.
// Form and arithmetic are those of HashiCorp's Serf (package coordinate), which Consul's clients
// read: a point in eight dimensions, a height (Dabek et al., Vivaldi, SIGCOMM 2004, section 5.4),
// and an adjustment (Lee et al., On Suitability of Euclidean Embedding, ToN 2010, section VI).

#include <array>
#include <chrono>
#include <cstddef>

namespace belay::coordinates {

/// Serf's Dimensionality (Ledlie et al., Network Coordinates in the Wild, NSDI 2007: 7 suffice).
inline constexpr std::size_t dimensions = 8;
/// Serf's VivaldiErrorMax: of a node without measurements.
inline constexpr double error_max = 1.5;
/// Serf's HeightMin, in seconds.
inline constexpr double height_min = 10.0e-6;

using vector = std::array<double, dimensions>;

/// All in seconds except `error`. A new one is the origin.
struct coordinate {
  vector vec{};
  double error = error_max; ///< uncertainty; no unit
  double adjustment = 0;
  double height = height_min;

  bool operator==(const coordinate&) const = default;
};

/// Whether no part of it is infinite or NaN.
bool is_valid(const coordinate& c);

/// Without adjustments, in seconds.
double raw_distance(const coordinate& a, const coordinate& b);
/// The expected round-trip time, in whole nanoseconds as in Serf. Limited to 100 years.
/// @pre both are valid
std::chrono::nanoseconds distance(const coordinate& a, const coordinate& b);

/// `c` after `force` (seconds) has pushed it away from `other`, or toward it if negative.
/// @param anywhere a direction for two at the same point; any length
coordinate pushed(coordinate c, double force, const coordinate& other, const vector& anywhere);

} // namespace belay::coordinates
