#pragma once
// A local cache of the keys below a prefix: a read is a lookup.
//
// Guarantees: what it returns was the state of a server, at one index, at most `age` ago. One
// request is in progress, however many readers there are. Survives: server restarts; lost
// responses. It returns what it has, with its age, until that is older than `stale_if_error`.
// On failure: it returns nothing (nullopt) rather than older data; read() is refused with the
// reason of the last try when the caller's deadline passes.

#include <belay/keys.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace belay {
inline namespace v0 {

class near_cache_options {
public:
  near_cache_options() = default;
  /// How long a read may block while nothing changes. Data is not much older than that.
  milliseconds confirm_every{5000};
  /// Older data is not returned.
  milliseconds stale_if_error{60000};
};

/// All keys of a prefix at one index. Immutable: a change creates a new table.
class key_table {
public:
  struct hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, entry, hash, std::equal_to<>> keys;
  std::uint64_t index = 0;

  /// Null if there is no such key.
  const entry* find(std::string_view key) const {
    auto found = keys.find(key);
    return found == keys.end() ? nullptr : &found->second;
  }
};

class near_cache {
public:
  near_cache(environment& env, std::string prefix, near_cache_options options = near_cache_options());
  near_cache(const near_cache&) = delete;
  near_cache& operator=(const near_cache&) = delete;

  /// Starts to follow the prefix.
  void start();
  /// Sends no more requests.
  void stop() { following_.reset(); }
  /// The current table; null if nothing has been read yet, or the table is too old.
  std::shared_ptr<const key_table> table();
  /// The latest time at which a server is known to have had the state of table().
  instant confirmed() const noexcept { return confirmed_; }
  /// Waits for the first response, or for one after table() became too old.
  task<result<std::shared_ptr<const key_table>>> read(deadline limit);
  /// Called after each response, on the environment's loop.
  void on_change(std::function<void()> notify) { on_change_ = std::move(notify); }

private:
  task<void> follow();

  environment& env_;
  std::string prefix_;
  near_cache_options options_;
  std::shared_ptr<const key_table> table_;
  instant confirmed_{};
  error last_error_;
  std::function<void()> on_change_;
  stop_source answered_;
  task<void> following_;
};

} // namespace v0
} // namespace belay
