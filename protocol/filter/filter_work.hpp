#pragma once
// What a filter may cost: the bytes that it examines in all rows of an answer, comparisons counted as bytes.

#include <algorithm>
#include <cstddef>

namespace belay::filter {

/// 20 to 300 ms, by what is searched for: a filter runs on the thread that serves clients. It allows to search 30 MB of values for
/// eight texts, or to compare 100,000 checks in thirty ways.
constexpr std::size_t filter_work_max = 256 << 20;

class filter_work {
public:
  explicit filter_work(std::size_t bytes_max = filter_work_max) : left_(bytes_max) {}

  /// @returns false: there is not so much left, and what the filter says from then on is worth nothing
  bool spend(std::size_t bytes) {
    exceeded_ = exceeded_ || bytes > left_;
    left_ -= std::min(bytes, left_);
    return !exceeded_;
  }
  bool exceeded() const { return exceeded_; }

private:
  std::size_t left_;
  bool exceeded_ = false;
};

} // namespace belay::filter
