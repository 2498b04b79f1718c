#pragma once
// Numbers for requests to other nodes: no reply may be taken for that of another request.

#include "protocol/base/mutants.hpp"
#include "protocol/base/random.hpp"

#include <cstdint>

namespace belay {

/// Starts at a number of 48 bits that no two processes share. So a late reply to an earlier process
/// of this node matches no request of this one (docs/internals/pitfalls.md R24).
class fresh_numbers {
public:
  static constexpr std::uint64_t mask = 0xFFFF'FFFF'FFFFULL;

  /// @param seed different for each process
  explicit fresh_numbers(std::uint64_t seed)
      : next_(MUTANT(numbers_start_again) ? 1 : seeded_random(seed).next() & mask) {}

  std::uint64_t next() {
    next_ = (next_ + 1) & mask;
    if (next_ == 0) // zero is reserved
      next_ = 1;
    return next_;
  }

private:
  std::uint64_t next_;
};

} // namespace belay
