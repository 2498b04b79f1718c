#pragma once
// Keys and their values.
//
// Promise: reads are consistent unless they say otherwise. `update` writes what its function made of the very value that it
// replaces, or nothing. `erase_if` and `erase_tree_if` erase what was there at that index, or nothing.
// Survives: writers in between (it tries again, after a random time that grows), servers that are away for a while, answers
// that are lost where asking again is harmless.
// On Belay writes have an idempotency key: when an answer was lost the server says what became of the write, or that nothing
// ever will.
// When it cannot: *refused* with the reason, nothing was changed by this call; *unknown*, an answer to a write was lost, and
// the write may be there: no server answered until the time was over, or it is Consul. There `update` and `erase_if` ask again
// with the same index, so that they write at most once, and a plain put is not sent twice.

#include <belay/task.hpp>
#include <belay/world.hpp>

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
  std::string session;       ///< that has locked it; empty if none has
  std::uint64_t index = 0;   ///< of its last change
  std::uint64_t created = 0; ///< of its first; it begins anew when the key is erased and written again

  entry() = default;
};

/// How long to wait between tries: a random part of `first`, then of twice as much, up to `longest` (full jitter).
class backoff {
public:
  explicit backoff(milliseconds first = milliseconds(10), milliseconds longest = milliseconds(2000)) noexcept
      : first_(first), longest_(longest), bound_(first) {}
  milliseconds next(world& w);
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
  std::uint64_t index = 0; ///< for a read that waits for a change
};

/// @returns refused with reason::unavailable and the like; a key that is not there is no refusal
task<result<reading>> read_key(world& w, std::string key, patience limit);
/// Waits until the index of that key is larger than `index`, for at most `wait`.
task<result<reading>> await_key(world& w, std::string key, std::uint64_t index, milliseconds wait, patience limit);

class tree_reading {
public:
  tree_reading() = default;
  std::vector<entry> found; ///< in order of their names
  std::uint64_t index = 0;  ///< for a read that waits for a change
};

/// All keys that begin with `prefix`, as they are at one index.
task<result<tree_reading>> read_tree(world& w, std::string prefix, patience limit);
/// Waits until one of them has changed behind `index`, for at most `wait`.
task<result<tree_reading>> await_tree(world& w, std::string prefix, std::uint64_t index, milliseconds wait,
                                      patience limit);

task<status> put_key(world& w, std::string key, std::string value, patience limit);

/// What becomes of a value: a function of what is there. nullopt leaves it as it is. It is called again if somebody else
/// wrote meanwhile.
class change {
public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, change>) change(F&& fn) : fn_(std::forward<F>(fn)) {
    // g++ 12 destroys such a temporary twice if it is made in an await.
    static_assert(std::is_lvalue_reference_v<F> || std::is_trivially_destructible_v<F>,
                  "give the function a name first: auto fn = ...; update(w, key, fn, limit)");
  }
  std::optional<std::string> operator()(const std::optional<entry>& now) const { return fn_(now); }

private:
  std::function<std::optional<std::string>(const std::optional<entry>&)> fn_;
};

/// @returns the value that is there afterwards
task<result<std::string>> update(world& w, std::string key, change fn, patience limit, backoff pauses = backoff());

enum class erased : std::uint8_t { erased, absent, conflict };
/// Erases the key if its index is still that.
task<result<erased>> erase_if(world& w, std::string key, std::uint64_t index, patience limit);
/// Erases all keys that begin with `prefix` if none of them has changed behind `index`: those that were there then, all of
/// them or none. A key that comes meanwhile stays. @returns refused with reason::limit if there are more than 64
task<result<erased>> erase_tree_if(world& w, std::string prefix, std::uint64_t index, patience limit);

} // namespace v0
} // namespace belay
