#pragma once
// Bytes buffered for a gateway's clients: unfinished and unanswered requests, and unsent answers.

#include <cstddef>

namespace belay::actors {

class byte_budget {
public:
  /// 0: no limit
  void limit(std::size_t bytes_max) { max_ = bytes_max; }
  /// A connection now buffers `now` bytes instead of `before`.
  void change(std::size_t before, std::size_t now) { used_ += now - before; }
  std::size_t used() const { return used_; }
  bool exceeded() const { return max_ != 0 && used_ > max_; }

private:
  std::size_t max_ = 0, used_ = 0;
};

} // namespace belay::actors
