#pragma once
// Strangers can make a server complain as often as they like. Lines about them are told once a minute each, and a few a second in all.

#include "actors/messages.hpp"

#include <map>
#include <string>

namespace belay::actors {

class log_brake {
public:
  /// Whether the line may be written now. @param what who and why: lines that are equal in it count as the same
  bool may_tell(const std::string& what, monotonic_time now) {
    if (now - second_began_ >= std::chrono::seconds(1)) {
      second_began_ = now;
      told_in_second_ = 0;
    }
    if (told_.size() >= remembered_max) // many strangers: then the limit of a second is what holds
      told_.clear();
    const auto known = told_.find(what);
    if (told_in_second_ >= lines_per_second || (known != told_.end() && now - known->second < again_after)) {
      ++untold_;
      return false;
    }
    told_[what] = now;
    ++told_in_second_;
    return true;
  }
  /// How many were not told since this was asked last.
  std::uint64_t take_untold() { return std::exchange(untold_, 0); }

private:
  static constexpr std::size_t remembered_max = 1000;
  static constexpr int lines_per_second = 5;
  static constexpr std::chrono::seconds again_after{60};

  std::map<std::string, monotonic_time> told_;
  monotonic_time second_began_{};
  int told_in_second_ = 0;
  std::uint64_t untold_ = 0;
};

} // namespace belay::actors
