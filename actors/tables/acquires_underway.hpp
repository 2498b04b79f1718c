#pragma once
// Acquires that wait at the leader while another acquire of the same key is in the log's pipeline.

#include "actors/messages.hpp"

#include <map>
#include <string>
#include <vector>

namespace belay::actors {

/// When a lock is released, all watchers try to acquire it. One gets it; once its entry is applied,
/// the others are rejected without an entry. This class decides nothing: its output is rechecked.
class acquires_underway {
public:
  /// No acquire waits longer than this for another one to be applied.
  static constexpr std::chrono::milliseconds timeout{500};
  /// Limit for all keys together; further acquires are passed on.
  static constexpr std::size_t kept_max = 16384;

  /// Whether it was kept. False: pass it on; acquires of that key that arrive after it are kept.
  bool keep(const check_write& w, monotonic_time now);
  /// An acquire of that key was applied. @returns those that waited for it, in order of arrival.
  std::vector<check_write> applied(const std::string& key);
  std::vector<check_write> timed_out(monotonic_time now);
  /// Removes and returns all, for example when this server no longer leads.
  std::vector<check_write> all();
  bool empty() const { return by_key_.empty(); }

private:
  struct underway {
    monotonic_time since;
    std::vector<check_write> kept;
  };
  using entry_iterator = std::map<std::string, underway>::iterator;

  std::vector<check_write> taken(entry_iterator at);
  std::vector<check_write> taken_if(const auto& over);

  std::map<std::string, underway> by_key_;
  std::size_t kept_ = 0;
};

/// The key of the lock to acquire; nullptr: the command is not an acquire.
inline const std::string* key_of_acquire(const state::command& c) {
  const auto* write = std::get_if<state::kv_write>(&c);
  return write != nullptr && write->op.verb == state::kv_verb::lock ? &write->op.key : nullptr;
}

} // namespace belay::actors
