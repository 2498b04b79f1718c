#pragma once
// A queue of calls that wait for a leader. It is bounded, because clients may bring more than memory holds.

#include "protocol/forward/requests.hpp"

#include <utility>
#include <vector>

namespace belay::forward {

/// Bounded in count and bytes; in order of arrival.
class held_calls {
public:
  static constexpr std::size_t count_max = 65536;
  static constexpr std::size_t bytes_max = 128u << 20;

  explicit held_calls(std::size_t limit = count_max) : limit_(limit) {}

  bool has_room_for(const held_call& c) const {
    return calls_.size() < limit_ && bytes_ + c.bytes->size() <= bytes_max;
  }

  /// @returns false: full, nothing was kept.
  bool add(held_call c) {
    if (!has_room_for(c))
      return false;
    bytes_ += c.bytes->size();
    calls_.push_back(std::move(c));
    return true;
  }

  std::vector<held_call> take_all() {
    bytes_ = 0;
    return std::exchange(calls_, {});
  }

  bool empty() const { return calls_.empty(); }
  std::size_t size() const { return calls_.size(); }

private:
  std::size_t limit_;
  std::vector<held_call> calls_;
  std::size_t bytes_ = 0;
};

} // namespace belay::forward
