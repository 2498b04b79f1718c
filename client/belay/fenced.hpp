#pragma once
// The resource side of a lock: rejects late actions of former holders.
//
// Guarantees: fenced<T> rejects a fencing token that is smaller than the largest it has seen.
// put_under() writes a key only if the lease's token is still that of the holder.
// Survives: holders that were stopped, and continue when another one has the lock; wrong clocks.
// On failure: *refused* with reason::held: a later holder was seen, or this one does not hold it.
// put_under() as `update`: *unknown* if a response was lost and the outcome cannot be determined.
//
// fenced<T> is for one process that owns the resource; keep the largest token for as long as the
// resource exists. Tokens of zero (semaphores on Consul) are rejected by both. Not thread-safe.

#include <belay/lease.hpp>
#include <belay/task.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace belay {
inline namespace v0 {

template <class T>
class fenced {
public:
  /// @param largest the largest token admitted before, if the resource is older than this object
  explicit fenced(T value = T(), std::uint64_t largest = 0) : value_(std::move(value)), checker_(largest) {}

  /// Calls `fn(T&)` if the fencing token is admitted.
  template <class F>
  status apply(std::uint64_t fence, F&& fn) {
    if (fence == 0 || !checker_.admits(fence))
      return error(outcome::refused, reason::held, "the fencing token is older than that of a later holder");
    std::forward<F>(fn)(value_);
    return nothing();
  }
  const T& value() const noexcept { return value_; }
  /// Store it with the resource.
  std::uint64_t largest() const noexcept { return checker_.largest(); }

private:
  T value_;
  fencing_token_checker checker_;
};

/// Writes the key under a lock or a claim. Belay compares the fencing token
/// (docs/reference/claims.md, "Guards"), Consul the index of the lock's key.
/// @param lock the key or the name under which `h` is held. `h` must outlive the task
task<status> put_under(session& s, const lease& h, std::string lock, std::string key, std::string value,
                       deadline limit);

} // namespace v0
} // namespace belay
