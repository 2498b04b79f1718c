#pragma once
// User events (docs/contract/13): the last ones this node received, and whether they concern it.

#include "protocol/base/result.hpp"
#include "protocol/state/queries.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::agent {

struct user_event {
  std::string id; ///< UUID
  std::string name, payload;
  std::string node_filter, service_filter, tag_filter; ///< regular expressions; empty: matches all
  std::uint64_t time = 0;                              ///< Lamport time at which it was fired; 0: not yet
};

/// Name and payload, before encoding: the maximum of Consul's gossip.
inline constexpr std::size_t event_bytes_max = 512;

/// Consul's error 500 for such an event, if any.
std::optional<std::string> complaint_of(const user_event& e);

/// Whether the filters match this node and one of its services.
bool concerns(const user_event& e, std::string_view node, const std::vector<state::service_ptr>& services);

class user_events {
public:
  /// Number of events that each agent keeps.
  static constexpr std::size_t kept_max = 256;

  /// Stamps an event of this node.
  void stamp(user_event& e) { e.time = ++clock_; }
  /// An event arrived: advances the clock past its time. @returns false: it is already known.
  bool received(const user_event& e);
  /// Keeps it for readers.
  void keep(user_event e);

  struct listing {
    std::vector<user_event> list; ///< oldest first
    std::uint64_t index = 1;      ///< index of the last event's ID; not monotonic
  };
  /// `name` empty: all.
  listing find(std::string_view name) const;

private:
  std::deque<user_event> kept_;
  std::deque<std::string> received_; ///< IDs, including those of events that do not concern this node
  std::uint64_t clock_ = 0;
};

/// XOR of both halves of a UUID; 1 if it is not a UUID.
std::uint64_t index_of(std::string_view uuid);

} // namespace belay::agent
