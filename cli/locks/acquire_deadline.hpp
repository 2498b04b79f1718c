#pragma once
// The deadline for acquiring in `belay lock` and similar commands. All requests of an acquire share
// it.

#include "actors/node/boot_clock.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

namespace belay::cli {

using lock_clock = actors::boot_clock;

class acquire_deadline {
public:
  using milliseconds = std::chrono::milliseconds;

  /// No deadline.
  acquire_deadline() = default;
  /// @param timeout from now; zero: no deadline
  explicit acquire_deadline(milliseconds timeout) {
    if (timeout.count() > 0)
      at_ = lock_clock::now() + timeout;
  }

  bool never() const { return !at_; }
  /// The time that is left; not positive: the deadline has passed.
  /// @pre !never()
  milliseconds left() const { return std::chrono::ceil<milliseconds>(*at_ - lock_clock::now()); }
  /// The time limit of one request that may take `usual` without a deadline (zero: no limit). It is
  /// at least a second, even after the deadline. So `-timeout=1ms` acquires a lock that is free,
  /// and destroys its session if the lock is not free.
  milliseconds limit(milliseconds usual) const {
    if (never())
      return usual;
    const auto most = std::max(left(), milliseconds(1000));
    return usual.count() == 0 ? most : std::min(usual, most);
  }

private:
  std::optional<lock_clock::time_point> at_;
};

} // namespace belay::cli
