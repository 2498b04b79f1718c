#pragma once
// Keeps a client's requests until servers have forgotten them, to repeat them in long runs.

#include "sim/run.hpp"

#include <deque>
#include <optional>
#include <utility>

namespace belay::sim {

template <class T>
class long_ago {
public:
  /// Servers keep ends of claims and outcomes of idempotency keys for ten minutes of cluster time
  /// (docs/reference/claims.md, rule 7; docs/reference/exactly-once.md).
  static constexpr std::chrono::minutes surely_forgotten{11};

  /// Keeps some of what is offered.
  void offer(const T& what, virtual_time now) {
    constexpr std::size_t one_in = 4, most = 64;
    if (offered_++ % one_in == 0 && kept_.size() < most)
      kept_.emplace_back(now, what);
  }
  /// Null: nothing is that old yet.
  const T* oldest(virtual_time now) const {
    return !kept_.empty() && now - kept_.front().first > surely_forgotten ? &kept_.front().second : nullptr;
  }
  /// @pre something is that old
  T take() {
    auto what = std::move(kept_.front().second);
    kept_.pop_front();
    return what;
  }

private:
  std::deque<std::pair<virtual_time, T>> kept_; ///< oldest first
  std::size_t offered_ = 0;
};

} // namespace belay::sim
