#pragma once
// What nodes say to each other, as versioned bytes on one ordered connection per direction.
//
//   u32 length of what follows | u32 CRC32C of what follows that | u8 version (1) | u8 kind | body
//
// Integers are little-endian. A frame that is too long, damaged or of another version ends the connection.

#include "protocol/agent/user_events.hpp"
#include "protocol/base/result.hpp"
#include "protocol/raft/types.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace belay::wire {

/// Largest frame accepted: an append of 1 MiB plus one oversized entry (a transaction of 64 values of 512 KiB) and
/// room.
inline constexpr std::size_t frame_bytes_max = 64u << 20;

/// First frame of a connection and again on every change: who speaks.
struct hello {
  raft::member self;
  std::string datacenter;
  std::uint64_t cluster_id = 0; ///< zero: belongs to no cluster yet
  std::uint32_t bootstrap_expect = 0;
  /// The complete initial set of servers as this node sees it, sorted by id; empty: not complete yet.
  std::vector<raft::member> agreed;
};

enum class call_kind : std::uint8_t { propose = 0, renew_session = 1, remove_member = 2, describe_health = 3 };
enum class call_outcome : std::uint8_t { done = 0, refused = 1, unknown = 2, retry = 3 };

/// A write (or session renewal) handed to the leader, once: the leader never passes it on (R24).
struct forward_call {
  request_id id; ///< of the asking node
  call_kind kind = call_kind::propose;
  payload
      bytes; ///< propose: an encoded command; renew_session: the session id; else actors/consensus/raft_peer_operators.cpp
};

struct forward_reply {
  request_id id; ///< echoed
  call_outcome outcome = call_outcome::unknown;
  log_index index;
  std::string bytes; ///< done: encoded reply; refused and unknown: text for the client
};

/// Asks the leader up to where a read must wait (etcd calls it ReadIndex). `lease_ok`: the leader's lease is proof
/// enough.
struct read_index {
  std::uint64_t id = 0;
  bool lease_ok = false;
};
struct read_index_reply {
  std::uint64_t id = 0;
  bool ok = false;
  log_index index;
};

using frame =
    std::variant<hello, raft::message, forward_call, forward_reply, read_index, read_index_reply, agent::user_event>;

/// Appends one frame.
void encode_frame(const frame& f, std::string& out);

/// Cuts a byte stream into frames.
class frame_decoder {
public:
  /// Appends what was read from the connection; decodes all complete frames into `frames`.
  /// @returns a failure if the stream is broken: close the connection.
  status feed(std::string_view bytes, std::vector<frame>& frames);

private:
  std::string pending_;
};

} // namespace belay::wire
