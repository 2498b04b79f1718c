#pragma once
// A request that waits for its reply: its origin, content
// and deadline; and the leadership that it depends on.

#include "protocol/forward/messages.hpp"

#include <chrono>
#include <variant>

namespace belay::forward {

/// Monotonic local time; only differences matter, and only on one node.
using local_time = std::chrono::nanoseconds;

// Error texts for clients, in the words of Consul 1.8.7 (docs/contract/06, section 3).

/// Rejected: there was no leader in time.
inline constexpr auto no_leader = "No cluster leader";
/// Unknown: the leader had proposed it, and another server may lead now.
inline constexpr auto leadership_lost = "leadership lost while committing log";

/// The receiver of the reply. Request id zero: none; the request is this node's own.
struct origin {
  node_id node;
  request_id id;
};

/// A call on its way to the leader's log or to the leader's decision.
struct queued_call {
  origin from;
  call_kind kind = call_kind::propose;
  payload bytes;
  local_time deadline{0};
  term_id required_term{}; ///< not zero: proposed in this term or not at all (docs/internals/pitfalls.md R25)
  bool waits = true;       ///< false: its client may be gone; rejected while there is no leader
};

/// The leadership that this node can use now.
struct leadership {
  bool here = false;    ///< this node leads
  bool serving = false; ///< this node leads, and an entry of its own term is committed
  term_id term;
  node_id elsewhere;  ///< the leader, if it is another node with a connection; else zero
  bool lease = false; ///< this node leads, and no other node can now
};

/// This node leads: confirm it by a quorum. Call confirmed() or failed() of the requester later.
struct confirm_leadership {
  std::uint64_t attempt = 0; ///< unique per requester: docs/internals/pitfalls.md R11
};

/// A message for another node.
struct to_peer {
  node_id to;
  std::variant<call, reply, read_index, read_index_reply> what;
};

} // namespace belay::forward
