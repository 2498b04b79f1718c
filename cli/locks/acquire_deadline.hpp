#pragma once
// Until when `belay lock` and its like try to get what they are asked for: one time for all requests that this takes.

#include "actors/node/boot_clock.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

namespace belay::cli {

using lock_clock = actors::boot_clock;

class acquire_deadline {
public:
  using milliseconds = std::chrono::milliseconds;

  /// There is none.
  acquire_deadline() = default;
  /// @param timeout from now on; zero: there is none
  explicit acquire_deadline(milliseconds timeout) {
    if (timeout.count() > 0)
      at_ = lock_clock::now() + timeout;
  }

  bool never() const { return !at_; }
  /// Not positive: it has passed.
  /// @pre !never()
  milliseconds left() const { return std::chrono::ceil<milliseconds>(*at_ - lock_clock::now()); }
  /// How long one request may take that may take `usual` without a deadline (zero: any time). At least a second, also when the deadline has
  /// passed: so `-timeout=1ms` gets a lock that is free, and the session of one that is not free is destroyed.
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
