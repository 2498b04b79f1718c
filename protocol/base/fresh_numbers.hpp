#pragma once
// Numbers for questions that other nodes will answer: an answer must never be taken for that of another question.

#include "protocol/base/mutants.hpp"
#include "protocol/base/random.hpp"

#include <cstdint>

namespace belay {

/// Counts from a place that no two processes share: an answer that was meant for an earlier process of this node, and
/// comes to this one, finds nobody who has asked (docs/pitfalls.md R24). 48 bits.
class fresh_numbers {
public:
  static constexpr std::uint64_t mask = 0xFFFF'FFFF'FFFFULL;

  /// @param seed differs from process to process
  explicit fresh_numbers(std::uint64_t seed)
      : next_(MUTANT(numbers_start_again) ? 1 : seeded_random(seed).next() & mask) {}

  std::uint64_t next() {
    next_ = (next_ + 1) & mask;
    if (next_ == 0) // is nobody's number
      next_ = 1;
    return next_;
  }

private:
  std::uint64_t next_;
};

} // namespace belay
