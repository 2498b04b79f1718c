#pragma once
// A share of a thread's time, for work that comes from outside and must not take all of it.

#include <algorithm>
#include <chrono>

namespace belay::actors {

/// Time that may be spent. Unused time is not saved up beyond a limit: a long silence buys no long burst.
class time_purse {
public:
  static constexpr std::chrono::nanoseconds saved_max = std::chrono::milliseconds(20);

  void earn(std::chrono::nanoseconds time) { left_ = std::min(saved_max, left_ + time); }
  /// What is begun is finished, so it may be overdrawn.
  void spend(std::chrono::nanoseconds time) { left_ -= time; }
  bool overdrawn() const { return left_ < std::chrono::nanoseconds(0); }

private:
  std::chrono::nanoseconds left_{0};
};

} // namespace belay::actors
