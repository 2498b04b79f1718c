#pragma once
// A shared counter.
//
// Guarantees: each add() that is done is counted once. The bounds are kept.
// Survives: concurrent additions (it retries after a random time).
// On failure: *refused* with reason::bounds, or reason::invalid if the key holds no number;
// *unknown* if a response was lost and the key has changed: it may have been counted. No retry.

#include <belay/keys.hpp>

#include <cstdint>
#include <limits>
#include <string>

namespace belay {
inline namespace v0 {

class counter {
public:
  explicit counter(environment& env, std::string key, std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                   std::int64_t max = std::numeric_limits<std::int64_t>::max());
  /// @returns the number after the addition. A key that does not exist counts as 0
  task<result<std::int64_t>> add(std::int64_t n, deadline limit);
  task<result<std::int64_t>> read(deadline limit);

private:
  environment& env_;
  std::string key_;
  std::int64_t min_;
  std::int64_t max_;
};

} // namespace v0
} // namespace belay
