#pragma once
// A latch: tasks wait until others have counted down to zero.
//
// Guarantees: wait() is done when the count has reached zero, and not before. Each
// count_down() that is done is counted once. It opens once: to use it again, erase the key.
// Survives: concurrent counting, lost responses to those that wait, elections.
// On failure: count_down() as `update`: if *unknown* it may have been counted, and is not retried.
// wait() is *refused* with reason deadline or stopped.
//
// It needs no session: a participant that dies does not count down, and the others keep waiting.

#include <belay/keys.hpp>

#include <cstdint>
#include <string>

namespace belay {
inline namespace v0 {

class latch {
public:
  /// @param count the initial count. The key has the number that is left; while it does not exist,
  /// nothing was counted
  latch(environment& env, std::string key, std::uint64_t count) : env_(env), key_(std::move(key)), count_(count) {}

  /// @returns what is left, at least zero. Refused with reason::invalid if the key has no number
  task<result<std::uint64_t>> count_down(deadline limit, std::uint64_t n = 1);
  task<status> wait(deadline limit);

private:
  environment& env_;
  std::string key_;
  std::uint64_t count_;
};

} // namespace v0
} // namespace belay
