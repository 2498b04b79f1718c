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
class queued_calls {
public:
  /// Limit for clients' calls.
  static constexpr std::size_t count_max = 65536;
  /// Limit for this node's own calls.
  static constexpr std::size_t own_count_max = 1024;
  /// Limit for each of the two, in bytes.
  static constexpr std::size_t bytes_max = 128u << 20;

  /// @param limit of clients' calls
  explicit queued_calls(std::size_t limit = count_max) : budgets_{{{limit}, {own_count_max}}} {}

  bool has_space_for(const queued_call& c) const {
    const auto& r = budgets_[is_own(c)];
    return r.count < r.limit && r.bytes + c.bytes->size() <= bytes_max;
  }

  /// @returns false: full, nothing was added.
  bool add(queued_call c) {
    if (!has_space_for(c))
      return false;
    auto& r = budgets_[is_own(c)];
    ++r.count;
    r.bytes += c.bytes->size();
    calls_.push_back(std::move(c));
    return true;
  }

  std::vector<queued_call> take_all() {
    for (auto& r : budgets_)
      r.count = r.bytes = 0;
    return std::exchange(calls_, {});
  }

  bool empty() const { return calls_.empty(); }
  std::size_t size() const { return calls_.size(); }

private:
  struct budget {
    std::size_t limit;
    std::size_t count = 0;
    std::size_t bytes = 0;
  };
  static bool is_own(const queued_call& c) { return c.from.id.is_zero() && !MUTANT(own_proposals_wait_with_clients); }

  std::array<budget, 2> budgets_; ///< space for clients' calls, and for own ones
  std::vector<queued_call> calls_;
};

} // namespace belay::forward
