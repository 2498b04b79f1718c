#pragma once
// A queue of calls that wait for a leader. Bounded, because clients may send more than fits memory.

#include "protocol/base/mutants.hpp"
#include "protocol/forward/requests.hpp"

#include <array>
#include <utility>
#include <vector>

namespace belay::forward {

/// Bounded in count and bytes; in order of arrival. This node's own calls (the end of
/// a session, for example) have a separate limit, so they never wait behind clients'.
class held_calls {
public:
  /// Limit for clients' calls.
  static constexpr std::size_t count_max = 65536;
  /// Limit for this node's own calls.
  static constexpr std::size_t own_count_max = 1024;
  /// Limit for each of the two, in bytes.
  static constexpr std::size_t bytes_max = 128u << 20;

  /// @param limit of clients' calls
  explicit held_calls(std::size_t limit = count_max) : rooms_{{{limit}, {own_count_max}}} {}

  bool has_room_for(const held_call& c) const {
    const auto& r = rooms_[is_own(c)];
    return r.count < r.limit && r.bytes + c.bytes->size() <= bytes_max;
  }

  /// @returns false: full, nothing was added.
  bool add(held_call c) {
    if (!has_room_for(c))
      return false;
    auto& r = rooms_[is_own(c)];
    ++r.count;
    r.bytes += c.bytes->size();
    calls_.push_back(std::move(c));
    return true;
  }

  std::vector<held_call> take_all() {
    for (auto& r : rooms_)
      r.count = r.bytes = 0;
    return std::exchange(calls_, {});
  }

  bool empty() const { return calls_.empty(); }
  std::size_t size() const { return calls_.size(); }

private:
  struct room {
    std::size_t limit;
    std::size_t count = 0;
    std::size_t bytes = 0;
  };
  static bool is_own(const held_call& c) { return c.from.id.is_zero() && !MUTANT(own_proposals_wait_with_clients); }

  std::array<room, 2> rooms_; ///< space for clients' calls, and for own ones
  std::vector<held_call> calls_;
};

} // namespace belay::forward
