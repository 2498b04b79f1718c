#pragma once
// A budget of a thread's time, for work that is caused from outside and must not use all of it.

#include <algorithm>
#include <chrono>

namespace belay::actors {

/// Time that may be spent. Unused time adds up to a limit: a long silence allows no long burst.
class time_budget {
public:
  static constexpr std::chrono::nanoseconds saved_max = std::chrono::milliseconds(20);

  void earn(std::chrono::nanoseconds time) { left_ = std::min(saved_max, left_ + time); }
  /// The budget may become negative, because work that has begun is finished.
  void spend(std::chrono::nanoseconds time) { left_ -= time; }
  bool overdrawn() const { return left_ < std::chrono::nanoseconds(0); }

private:
  std::chrono::nanoseconds left_{0};
};

} // namespace belay::actors
