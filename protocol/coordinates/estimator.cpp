#include "protocol/coordinates/estimator.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace belay::coordinates {

namespace {

// From Serf's DefaultConfig().
constexpr double error_step = 0.25;        // VivaldiCE: how much one measurement changes the error
constexpr double coordinate_step = 0.25;   // VivaldiCC: and the coordinate
constexpr std::size_t latency_samples = 3; // LatencyFilterSize
constexpr double gravity_rho = 150.0;      // GravityRho, in seconds

// Serf's zeroThreshold: minimum of round trips (seconds) and sums of errors as divisors.
constexpr double least = 1.0e-6;

} // namespace

bool estimator::measured(node_id peer, const coordinate& there, std::chrono::nanoseconds round_trip) {
  if (!is_valid(there) || round_trip < std::chrono::nanoseconds(0) || round_trip > round_trip_max)
    return false;
  const auto seconds = filtered(peer, std::chrono::duration<double>(round_trip).count());
  follow(there, seconds);
  adjust(there, seconds);
  fall_to_origin();
  if (!is_valid(own_)) // the peer's numbers were too large to add
    own_ = {};
  return true;
}

double estimator::filtered(node_id peer, double seconds) {
  auto& samples = latest_[peer];
  samples.push_back(seconds);
  if (samples.size() > latency_samples)
    samples.erase(samples.begin());
  auto sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

/// A direction; each part is uniform in [-0.5, 0.5).
vector estimator::anywhere() {
  constexpr std::uint64_t steps = 1ULL << 53; // all that a double can distinguish there
  vector out;
  for (auto& x : out)
    x = static_cast<double>(chance_.below(steps)) / static_cast<double>(steps) - 0.5;
  return out;
}

/// Dabek et al., figure 3: the more certain the peer is than this node, the larger the step.
void estimator::follow(const coordinate& there, double seconds) {
  const auto expected = std::chrono::duration<double>(distance(own_, there)).count();
  const auto sample = std::max(seconds, least);
  const auto wrong_by = std::abs(expected - sample) / sample;
  const auto weight = own_.error / std::max(own_.error + there.error, least);
  own_.error = std::min(error_step * weight * wrong_by + own_.error * (1.0 - error_step * weight), error_max);
  own_ = pushed(own_, coordinate_step * weight * (sample - expected), there, anywhere());
}

void estimator::adjust(const coordinate& there, double seconds) {
  missed_by_[next_missed_] = seconds - raw_distance(own_, there); // without adjustments, which are being estimated
  next_missed_ = (next_missed_ + 1) % window;
  own_.adjustment = std::accumulate(missed_by_.begin(), missed_by_.end(), 0.0) / (2.0 * window);
}

void estimator::fall_to_origin() {
  const coordinate origin;
  const auto away = std::chrono::duration<double>(distance(origin, own_)).count();
  own_ = pushed(own_, -std::pow(away / gravity_rho, 2.0), origin, anywhere());
}

} // namespace belay::coordinates
