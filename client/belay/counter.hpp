#pragma once
// A number that many count on.
//
// Promise: each add() that is done is counted once. Bounds are kept.
// Survives: others that add at the same time (it tries again, after a random time).
// When it cannot: *refused* with reason::bounds, or reason::invalid if the key holds no number; *unknown* if an answer was lost
// and the key has changed since: it may have been counted, and is not counted again.

#include <belay/keys.hpp>

#include <cstdint>
#include <limits>
#include <string>

namespace belay {
inline namespace v0 {

class counter {
public:
  explicit counter(world& w, std::string key, std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                   std::int64_t most = std::numeric_limits<std::int64_t>::max());
  /// @returns the number afterwards. A key that is not there is 0
  task<result<std::int64_t>> add(std::int64_t n, patience limit);
  task<result<std::int64_t>> read(patience limit);

private:
  world& world_;
  std::string key_;
  std::int64_t least_;
  std::int64_t most_;
};

} // namespace v0
} // namespace belay
