#include "protocol/coordinates/coordinate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace belay::coordinates {

namespace {

// Serf's zeroThreshold, in seconds: closer nodes are at the same point.
constexpr double same_point = 1.0e-6;
// Far more than any round trip; as nanoseconds it fits an int64.
constexpr double seconds_max = 100.0 * 365 * 86400;

double length(const vector& v) {
  return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
}

vector between(const vector& a, const vector& b) {
  vector out;
  for (std::size_t i = 0; i < dimensions; ++i)
    out[i] = a[i] - b[i];
  return out;
}

vector scaled(vector v, double by) {
  for (auto& x : v)
    x *= by;
  return v;
}

struct direction {
  vector unit;
  double apart = 0; ///< seconds; 0: at the same point
};

direction away_from(const vector& other, const vector& own, const vector& anywhere) {
  const auto gap = between(own, other);
  if (const auto apart = length(gap); apart > same_point)
    return {scaled(gap, 1.0 / apart), apart};
  if (const auto n = length(anywhere); n > same_point)
    return {scaled(anywhere, 1.0 / n), 0};
  return {{1.0}, 0};
}

} // namespace

bool is_valid(const coordinate& c) {
  return std::all_of(c.vec.begin(), c.vec.end(), [](double x) { return std::isfinite(x); }) && std::isfinite(c.error) &&
         std::isfinite(c.adjustment) && std::isfinite(c.height);
}

double raw_distance(const coordinate& a, const coordinate& b) {
  return length(between(a.vec, b.vec)) + a.height + b.height;
}

std::chrono::nanoseconds distance(const coordinate& a, const coordinate& b) {
  const auto raw = raw_distance(a, b);
  const auto adjusted = raw + a.adjustment + b.adjustment;
  const auto seconds = adjusted > 0 ? adjusted : raw;
  // Large numbers may overflow to infinity, and infinity minus infinity is NaN: use the maximum.
  const auto bounded = std::isnan(seconds) ? seconds_max : std::clamp(seconds, -seconds_max, seconds_max);
  return std::chrono::nanoseconds(static_cast<std::int64_t>(bounded * 1.0e9));
}

coordinate pushed(coordinate c, double force, const coordinate& other, const vector& anywhere) {
  const auto [unit, apart] = away_from(other.vec, c.vec, anywhere);
  for (std::size_t i = 0; i < dimensions; ++i)
    c.vec[i] += unit[i] * force;
  if (apart > same_point)
    c.height = std::max(c.height + force * (c.height + other.height) / apart, height_min);
  return c;
}

} // namespace belay::coordinates
