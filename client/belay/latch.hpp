#pragma once
// Some wait until others have counted down to zero.
//
// Promise: wait() is done when as much was counted as the latch has, and not before. Each count_down() that is done is counted
// once. It opens once: to use it again, erase the key.
// Survives: others that count at the same time, lost answers to those who wait, elections.
// When it cannot: count_down() as `update`: *unknown* if an answer was lost and nobody could be asked what became of it: it may
// have been counted, and is not counted again. wait() is *refused* with reason deadline or stopped.
//
// It needs no session: a participant that dies is not counted, and nobody waits less for it.

#include <belay/keys.hpp>

#include <cstdint>
#include <string>

namespace belay {
inline namespace v0 {

class latch {
public:
  /// @param count from where it is counted down. The key has the number that is left; as long as it is not there, nothing was
  /// counted
  latch(world& w, std::string key, std::uint64_t count) : world_(w), key_(std::move(key)), count_(count) {}

  /// @returns what is left; it does not go below zero. Refused with reason::invalid if the key holds no number
  task<result<std::uint64_t>> count_down(patience limit, std::uint64_t n = 1);
  task<status> wait(patience limit);

private:
  world& world_;
  std::string key_;
  std::uint64_t count_;
};

} // namespace v0
} // namespace belay
