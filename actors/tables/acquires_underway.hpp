#pragma once
// Acquires that wait at the leader while another one of the same key is on its way through the log.

#include "actors/messages.hpp"

#include <map>
#include <string>
#include <vector>

namespace belay::actors {

/// When a lock becomes free, all who watched it ask for it. One gets it; the others are known to be late as soon as that
/// one is applied, and need no entry of the log then. Nothing is decided here: who is given back asks as if he came now.
class acquires_underway {
public:
  /// An acquire that has not come through the log after this is not waited for any longer.
  static constexpr std::chrono::milliseconds patience{500};
  /// Of all keys together; whoever comes when there are so many goes his way.
  static constexpr std::size_t kept_max = 16384;

  /// Whether it was kept. False: it goes its way, and those who come after it are kept.
  bool keep(const check_write& w, monotonic_time now);
  /// One of that key is applied: who waited for it, in the order of arrival.
  std::vector<check_write> applied(const std::string& key);
  std::vector<check_write> past_patience(monotonic_time now);
  /// As when this server does not lead any more.
  std::vector<check_write> all();
  bool empty() const { return by_key_.empty(); }

private:
  struct underway {
    monotonic_time since;
    std::vector<check_write> kept;
  };
  using place = std::map<std::string, underway>::iterator;

  std::vector<check_write> taken(place at);
  std::vector<check_write> taken_if(const auto& over);

  std::map<std::string, underway> by_key_;
  std::size_t kept_ = 0;
};

/// The key that it asks the lock of; nullptr: it is something else.
inline const std::string* key_of_acquire(const state::command& c) {
  const auto* write = std::get_if<state::kv_write>(&c);
  return write != nullptr && write->op.verb == state::kv_verb::lock ? &write->op.key : nullptr;
}

} // namespace belay::actors
