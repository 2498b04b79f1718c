#pragma once
// Numbers for requests that other nodes will answer.

#include "protocol/base/ids.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/random.hpp"

namespace belay::actors {

/// Counts from a place that no two processes share: an answer that was meant for an earlier process of this node, and
/// comes to this one, finds nobody who has asked (R24). 48 bits.
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

/// Request ids of one gateway: its number in the upper 16 bits.
class request_ids {
public:
  request_ids(std::size_t gateway, std::uint64_t seed)
      : gateway_(static_cast<std::uint64_t>(gateway) << 48), numbers_(seed) {}
  request_id next() { return request_id{gateway_ | numbers_.next()}; }

private:
  std::uint64_t gateway_;
  fresh_numbers numbers_;
};

} // namespace belay::actors
