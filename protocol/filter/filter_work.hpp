#pragma once
// Cost limit of a filter: bytes that it examines in all rows; comparisons count as bytes.

#include <algorithm>
#include <cstddef>

namespace belay::filter {

/// 20 to 300 ms, depending on the text: filters run on the HTTP thread. Permits a
/// search of 30 MB of values for eight texts, or thirty comparisons of 100,000 checks.
constexpr std::size_t filter_work_max = 256 << 20;

class filter_work {
public:
  explicit filter_work(std::size_t bytes_max = filter_work_max) : left_(bytes_max) {}

  /// @returns false: the limit is exceeded, and the filter's results are invalid from then on
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
