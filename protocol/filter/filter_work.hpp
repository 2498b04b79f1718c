#pragma once
// Limits the cost of a filter: the bytes that it examines in all rows of a result; a comparison
// counts as bytes. It examines them in slices, between which others are served.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace belay::filter {

/// Limit for a read of the replicated state: 20 to 500 ms in slices, depending on the text searched
/// for. It allows searching 30 MB of values for eight texts, or comparing 100,000 checks in thirty
/// ways.
constexpr std::size_t filter_work_max = 256 << 20;
/// Limit for an agent's own services and checks, which are not filtered in slices: at most 8 ms.
constexpr std::size_t agent_filter_work_max = 4 << 20;
/// Limit for a slice: 0.1 to 3 ms.
constexpr std::size_t filter_slice_usual = 1 << 20;

/// Counts the bytes. A slice ends before the first comparison that begins after it is spent.
/// The next slice evaluates the row again without repeating finished comparisons. It exceeds its
/// size by at most one comparison, however many comparisons a filter has and however long the row.
class filter_work {
public:
  explicit filter_work(std::size_t bytes_max = filter_work_max) : left_(bytes_max) {}

  /// Begins a slice of `bytes`; without this call, there is only one. @pre bytes > 0
  void begin_slice(std::size_t bytes) {
    in_slice_ = bytes;
    paused_ = false;
  }
  /// Whether the slice ended before the row was decided: the filter's result for it is meaningless.
  bool paused() const { return paused_; }

  /// Evaluates one row. Repeat it with the next slice while paused().
  template <class F>
  bool row(F&& accepts) {
    next_ = 0;
    const bool yes = accepts();
    if (!paused_)
      made_.clear();
    return yes;
  }
  /// Evaluates one comparison of the row, once. @pre their order depends only on their results
  template <class F>
  bool comparison(F&& holds) {
    if (next_ < made_.size())
      return made_[next_++];
    paused_ = paused_ || in_slice_ == 0;
    if (paused_)
      return false;
    made_.push_back(holds());
    return made_[next_++];
  }

  /// @returns false: the limit is exceeded, and all further results of the filter are meaningless
  bool spend(std::size_t bytes) {
    exceeded_ = exceeded_ || bytes > left_;
    left_ -= std::min(bytes, left_);
    in_slice_ -= std::min(bytes, in_slice_);
    return !exceeded_;
  }
  bool exceeded() const { return exceeded_; }

private:
  std::size_t left_, in_slice_ = SIZE_MAX;
  bool exceeded_ = false, paused_ = false;
  std::vector<bool> made_; ///< results of finished comparisons of the current row
  std::size_t next_ = 0;   ///< index in made_
};

} // namespace belay::filter
