#pragma once
// Reads and conditional writes of keys.
//
// Guarantees: reads are consistent unless documented otherwise. `update` replaces exactly the value
// given to its function, or writes nothing. `erase_if` and `erase_tree_if` erase what was there at
// that index, or nothing. Survives: concurrent writers (it retries after a growing random time),
// servers that are unavailable for a while, and lost responses where a retry is harmless.
// On Belay, writes have an idempotency key: after a lost response the server reports the outcome,
// or guarantees that the write never takes effect.
// On failure: *refused* with a reason: nothing was changed. *Unknown*: a response was lost, and the
// write may be there: no server responded in time, or it is Consul. There `update` and `erase_if`
// retry with the same index, so they write at most once; put_key is not sent twice.

#include <belay/environment.hpp>
#include <belay/task.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace belay {
inline namespace v0 {

struct entry {
  std::string key;
  std::string value;
  std::uint64_t flags = 0;
  std::string session;       ///< the session that has locked it; empty if none has
  std::uint64_t index = 0;   ///< index of its last change
  std::uint64_t created = 0; ///< index of its creation; changes when the key is erased and written again

  entry() = default;
};

/// Pauses: a random part of `first`, then of twice as much, up to `longest` (full jitter).
class backoff {
public:
  explicit backoff(milliseconds first = milliseconds(10), milliseconds longest = milliseconds(2000)) noexcept
      : first_(first), longest_(longest), bound_(first) {}
  milliseconds next(environment& env);
  void reset() noexcept { bound_ = first_; }

private:
  milliseconds first_;
  milliseconds longest_;
  milliseconds bound_;
};

class reading {
public:
  reading() = default;
  std::optional<entry> found;
  std::uint64_t index = 0; ///< index to pass to await_key
};

/// A missing key is not an error. @returns refused with a reason such as reason::unavailable
task<result<reading>> read_key(environment& env, std::string key, deadline limit);
/// Waits until the index of that key is larger than `index`, for at most `wait`.
task<result<reading>> await_key(environment& env, std::string key, std::uint64_t index, milliseconds wait,
                                deadline limit);

class tree_reading {
public:
  tree_reading() = default;
  std::vector<entry> found; ///< sorted by name
  std::uint64_t index = 0;  ///< index to pass to await_tree
};

/// All keys that begin with `prefix`, as of one index.
task<result<tree_reading>> read_tree(environment& env, std::string prefix, deadline limit);
/// Waits until one of them has changed after `index`, for at most `wait`.
task<result<tree_reading>> await_tree(environment& env, std::string prefix, std::uint64_t index, milliseconds wait,
                                      deadline limit);

task<status> put_key(environment& env, std::string key, std::string value, deadline limit);

/// A function from the current entry to the new value. nullopt leaves it as it is. Called again if
/// another client wrote meanwhile.
class change {
public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, change>) change(F&& fn) : fn_(std::forward<F>(fn)) {
    // g++ 12 destroys such a temporary twice if it is created in an await.
    static_assert(std::is_lvalue_reference_v<F> || std::is_trivially_destructible_v<F>,
                  "give the function a name first: auto fn = ...; update(env, key, fn, limit)");
  }
  std::optional<std::string> operator()(const std::optional<entry>& now) const { return fn_(now); }

private:
  std::function<std::optional<std::string>(const std::optional<entry>&)> fn_;
};

/// @returns the value that is there afterwards
task<result<std::string>> update(environment& env, std::string key, change fn, deadline limit,
                                 backoff pauses = backoff());

enum class erased : std::uint8_t { erased, absent, conflict };
/// Erases the key if its index is still `index`.
task<result<erased>> erase_if(environment& env, std::string key, std::uint64_t index, deadline limit);
/// Erases all keys under `prefix` if none has changed after `index`: all that existed then, or
/// none. A key created meanwhile stays. @returns refused with reason::limit if there are over 64
task<result<erased>> erase_tree_if(environment& env, std::string prefix, std::uint64_t index, deadline limit);

} // namespace v0
} // namespace belay
