#pragma once
// The guarded side of a lock: what refuses a holder that comes late.
//
// Promise: fenced<T> does nothing for a fence that is smaller than the largest it has seen. put_under() writes a key if the
// hold's fence is still that of the holder when the server writes it, else nothing.
// Survives: holders that were stopped for any time, and go on when somebody else has the lock; clocks that are wrong.
// When it cannot: *refused* with reason::held: a later holder was seen, or this one holds it no more. put_under() as `update`:
// *unknown* if an answer was lost and nobody could be asked.
//
// fenced<T> is for one process that has the resource; its largest fence has to be kept as long as the resource is. Fences of
// zero (semaphores on Consul) are refused by both. One thread at a time.

#include <belay/hold.hpp>
#include <belay/task.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace belay {
inline namespace v0 {

template <class T>
class fenced {
public:
  /// @param largest the largest fence that was admitted before, if the resource is older than this object
  explicit fenced(T value = T(), std::uint64_t largest = 0) : value_(std::move(value)), gate_(largest) {}

  /// Calls `fn(T&)` if the fence is admitted.
  template <class F>
  status apply(std::uint64_t fence, F&& fn) {
    if (fence == 0 || !gate_.admits(fence))
      return error(outcome::refused, reason::held, "the fence is older than the one of a later holder");
    std::forward<F>(fn)(value_);
    return nothing();
  }
  const T& value() const noexcept { return value_; }
  /// To be kept beside the resource.
  std::uint64_t largest() const noexcept { return gate_.largest(); }

private:
  T value_;
  fence_gate gate_;
};

/// Writes the key under a lock or a claim: on Belay the server compares the fence (docs/http-extensions.md, "Guards"), on
/// Consul the index of the lock's key.
/// @param lock the key or the name under which `h` is held. `h` must live until the task has ended
task<status> put_under(session& s, const hold& h, std::string lock, std::string key, std::string value, patience limit);

} // namespace v0
} // namespace belay
