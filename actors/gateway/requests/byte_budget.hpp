#pragma once
// Bytes that all clients of a gateway make it keep: requests that are not complete or not answered, and answers that were not taken.

#include <cstddef>

namespace belay::actors {

class byte_budget {
public:
  /// 0: no limit
  void limit(std::size_t bytes_max) { max_ = bytes_max; }
  /// A connection keeps `now` bytes, and not `before` any more.
  void change(std::size_t before, std::size_t now) { used_ += now - before; }
  std::size_t used() const { return used_; }
  bool exceeded() const { return max_ != 0 && used_ > max_; }

private:
  std::size_t max_ = 0, used_ = 0;
};

} // namespace belay::actors
