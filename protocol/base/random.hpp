#pragma once
// The only source of randomness below actors/: seeded, the same on every machine.

#include "protocol/base/check.hpp"

#include <cstdint>

namespace belay {

/// SplitMix64 (Steele, Lea, Flood 2014): small, fast; for jitter and schedules, not for secrets.
class seeded_random {
public:
  explicit seeded_random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  /// Uniform in [0, n). @pre n > 0
  std::uint64_t below(std::uint64_t n) {
    PRECONDITION(n > 0);
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64);
  }

private:
  std::uint64_t state_;
};

} // namespace belay
