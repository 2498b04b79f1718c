#pragma once
// A request while it waits for its answer: where it came from, what it wants, until when; and what the waiting depends
// on, namely who leads.

#include "protocol/forward/messages.hpp"

#include <chrono>
#include <variant>

namespace belay::forward {

/// Monotonic local time; only differences matter, and only on one node.
using local_time = std::chrono::nanoseconds;

// What clients are told, in the words of Consul 1.8.7 (docs/contract/06, section 3).

/// Refused: no leader turned up in time.
inline constexpr auto no_leader = "No cluster leader";
/// Unknown: it was the leader's to decide, and now another one may lead.
inline constexpr auto leadership_lost = "leadership lost while committing log";

/// Who waits for an answer. Request id zero: nobody; the request was a wish of this node itself.
struct origin {
  node_id node;
  request_id id;
};

/// A call on its way to the leader's log or to the leader's decision.
struct held_call {
  origin from;
  call_kind kind = call_kind::propose;
  payload bytes;
  local_time deadline{0};
  term_id required_term{}; ///< not zero: proposed in this term or not at all (docs/pitfalls.md R25)
  bool waits = true;       ///< false: its client may be gone, it is refused while there is no leader
};

/// Who leads, as far as this node can make use of it now.
struct leadership {
  bool here = false;    ///< this node leads
  bool serving = false; ///< this node leads, and an entry of its own term is committed
  term_id term;
  node_id elsewhere;  ///< the leader, if it is another node and there is a connection to it; else zero
  bool lease = false; ///< this node leads, and nobody else can now
};

/// This node leads: have it confirmed by a quorum. Answer whoever wants it with confirmed() or failed(), sooner or later.
struct confirm_leadership {
  std::uint64_t attempt = 0; ///< never twice by the same asker: docs/pitfalls.md R11
};

/// To be sent to another node.
struct to_peer {
  node_id to;
  std::variant<call, reply, read_index, read_index_reply> what;
};

} // namespace belay::forward
