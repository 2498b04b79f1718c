#pragma once
// Strong integer types, so that the compiler does not confuse, for example, a term with an index.

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace belay {

/// An unsigned 64-bit number that does not convert to other kinds.
template <class Tag>
struct strong_id {
  std::uint64_t value = 0;

  constexpr strong_id() = default;
  constexpr explicit strong_id(std::uint64_t v) : value(v) {}

  constexpr auto operator<=>(const strong_id&) const = default;
  constexpr bool is_zero() const { return value == 0; }
  constexpr strong_id next() const { return strong_id{value + 1}; }
  constexpr strong_id prev() const { return strong_id{value - 1}; }
};

/// Raft term; 0 = before the first election.
using term_id = strong_id<struct term_tag>;
/// Position in the replicated log, starting at 1; 0 = none. Clients see it as Consul's index.
using log_index = strong_id<struct log_index_tag>;
/// One server with one data directory: a wiped server returns with another id. 0 = none.
using node_id = strong_id<struct node_id_tag>;
/// Identifies a client's request among the actors of a node; never reused in a process. 0 = none.
using request_id = strong_id<struct request_id_tag>;

/// Milliseconds of *cluster time*: stamped on log entries by the leader, never decreasing.
using cluster_time = strong_id<struct cluster_time_tag>;

template <class Tag>
std::string to_string(strong_id<Tag> id) {
  return std::to_string(id.value);
}

} // namespace belay

template <class Tag>
struct std::hash<belay::strong_id<Tag>> {
  std::size_t operator()(belay::strong_id<Tag> id) const noexcept { return std::hash<std::uint64_t>{}(id.value); }
};
