#pragma once
// Waits for locks of keys whose clients disconnected. Each keeps its position for a while, so that
// the client can return. Then it is withdrawn (docs/reference/http-extensions.md, "Waiting for a
// lock"). The first gateway of a server has all of them, so that one entry withdraws all that are
// due.

#include "actors/messages.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::actors {

/// Has no messages and timers: the gateway reports events and carries out what is due.
class disconnected_waits {
public:
  /// Time for which a position is kept after a disconnect. A failover needs less than half of it.
  static constexpr std::chrono::seconds kept_for{5};
  /// Size of keys and sessions, with per-row memory. Beyond it no more are noted: these wait until
  /// their deadlines. A cluster's waits may take 256 MiB (docs/reference/claims.md, rule 24), mostly values.
  static constexpr std::size_t bytes_max = 64u << 20;
  static constexpr std::size_t row_bytes = 256;

  void changed(const wait_changed& w, monotonic_time now);
  /// The waits for one entry to withdraw now, at most withdrawn_at_once_max; call it again until
  /// empty. They are removed from this object until not_withdrawn() returns them.
  std::vector<wait_changed> take_due(monotonic_time now);
  /// The entry failed, or may have. It can be repeated: withdrawn waits are not found again.
  void not_withdrawn(std::vector<wait_changed> list, monotonic_time now);
  /// max(): there is none.
  monotonic_time next_due() const { return by_due_.empty() ? monotonic_time::max() : by_due_.begin()->first; }
  std::size_t size() const { return waits_.size(); }

private:
  using name = std::pair<std::string, std::string>; ///< key and session
  struct waiting {
    log_index requested_at;
    monotonic_time until; ///< the wait ends then in any case
    monotonic_time due;
  };
  using entry_iterator = std::map<name, waiting>::iterator;

  void put(name which, waiting w);
  void set_due(entry_iterator at, monotonic_time due);
  void erase(entry_iterator at);
  static std::size_t bytes_of(const name& n) { return n.first.size() + n.second.size() + row_bytes; }

  std::map<name, waiting> waits_;
  std::multimap<monotonic_time, name> by_due_;
  std::size_t bytes_ = 0;
};

} // namespace belay::actors
