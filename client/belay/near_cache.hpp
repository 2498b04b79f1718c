#pragma once
// The keys below a prefix, kept here: a read is a lookup.
//
// Promise: what it shows was so on a server, at one index, `age` ago or less. One request is under way however many read.
// Survives: servers that go and come back; answers that are lost. It goes on showing what it has, with its age, until that is
// older than `stale_if_error`.
// When it cannot: nothing is shown (nullopt), rather than something older than that; read() is refused with the reason of the
// last try when its caller's time is over.

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
  /// How long the server may hold an answer while nothing changes. What is shown is not much older than that.
  milliseconds confirm_every{5000};
  /// What is older is not shown any more.
  milliseconds stale_if_error{60000};
};

/// All keys of a prefix at one index. It is never changed: a change makes another one.
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
  near_cache(world& w, std::string prefix, near_cache_options options = near_cache_options());
  near_cache(const near_cache&) = delete;
  near_cache& operator=(const near_cache&) = delete;

  /// Begins to follow the prefix.
  void start();
  /// Asks nothing any more.
  void stop() { following_.reset(); }
  /// What is shown; null if it was never read, or is too old.
  std::shared_ptr<const key_table> table();
  /// Since when a server is known to have had what table() shows.
  instant confirmed() const noexcept { return confirmed_; }
  /// Waits for the first answer, or for one after table() became too old.
  task<result<std::shared_ptr<const key_table>>> read(patience limit);
  /// After each answer, in the world's loop.
  void on_change(std::function<void()> told) { told_ = std::move(told); }

private:
  task<void> follow();

  world& world_;
  std::string prefix_;
  near_cache_options options_;
  std::shared_ptr<const key_table> table_;
  instant confirmed_{};
  error last_error_;
  std::function<void()> told_;
  stopper answered_;
  task<void> following_;
};

} // namespace v0
} // namespace belay
