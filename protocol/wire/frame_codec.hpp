#pragma once
// Frames between nodes: versioned bytes on one ordered connection per direction.
//
//   u32 length of what follows | u32 CRC32C of what follows that | u8 version (1) | u8 kind | body
//
// Little-endian. A frame that is too long, damaged or of another version ends the connection.

#include "protocol/agent/user_events.hpp"
#include "protocol/base/compiled_once.hpp"
#include "protocol/base/result.hpp"
#include "protocol/coordinates/messages.hpp"
#include "protocol/forward/keyring.hpp"
#include "protocol/forward/messages.hpp"
#include "protocol/raft/peer_clocks.hpp"
#include "protocol/state/feature_levels.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace belay::wire {

/// Largest frame accepted: an append of 1 MiB plus one oversized
/// entry (a transaction of 64 values of 512 KiB), with a margin.
inline constexpr std::size_t frame_bytes_max = 64u << 20;

/// First frame of a connection, sent again on every change: identifies the sender.
struct hello {
  raft::member self;
  std::string datacenter;
  std::uint64_t cluster_id = 0; ///< zero: belongs to no cluster yet
  std::uint32_t bootstrap_expect = 0;
  /// The set that this server has promised for its first configuration, sorted by id; empty: none.
  std::vector<raft::member> agreed;
  /// Feature level (protocol/state/feature_levels.hpp); 0: a server that predates levels.
  state::feature_level level = 0;

  // Earlier versions neither send nor read these fields; frame_codec.cpp encodes them where those
  // versions ignore them.
  std::vector<std::string> known = {}; ///< host:port of other servers, reachable or in its configuration
  bool has_log = false;                ///< it has entries, or a term
  bool reaches_cluster = false;        ///< it can reach a server that belongs to a cluster or has a log
  bool disk_full = false;              ///< it acknowledges nothing
  bool promises = false;               ///< it knows rounds (protocol/raft/formation.hpp)
  std::uint64_t round = 0;             ///< round in which `agreed` was promised
  bool given_up = false;
  std::vector<std::uint64_t> refused = {}; ///< clusters whose first configuration this server has given up
  bool has_replicas = false;               ///< it never makes a replica a voter (docs/internals/adr/0013)
  bool replica = false;                    ///< it is a replica: it must not get a vote
  bool coordinates = false;                ///< it understands frames about coordinates (docs/internals/adr/0015)
  /// Not a server: HTTP requests follow this frame, and this connection also carries their
  /// responses back.
  bool client_agent = false;

  bool operator==(const hello&) const = default;
};

/// Sent regularly, and after a change of the configuration, to peers of feature level 1 and above.
struct gossip {
  raft::clock_sample clock;
  std::vector<node_id> members; ///< members in the sender's configuration (raft::core::members_received)
};

// Requests and replies, under the names of their frames.
using forward::call_kind;
using forward::call_outcome;
using forward::keyring_call;  // to peers of feature level 2 and above
using forward::keyring_reply; // likewise
using forward::read_index;
using forward::read_index_reply;
using coordinate_probe = coordinates::probe; // only to peers whose hello announces them
using coordinate_answer = coordinates::probe_answer;
using coordinate_news = coordinates::news;
using forward_call = forward::call;
using forward_reply = forward::reply;

using frame = compiled_once<
    std::variant<hello, raft::message, forward_call, forward_reply, read_index, read_index_reply, agent::user_event,
                 gossip, keyring_call, keyring_reply, coordinate_probe, coordinate_answer, coordinate_news>>;

/// Appends one frame.
void encode_frame(const frame& f, std::string& out);
/// Whether it contains keys: then it is sent only over authenticated, encrypted connections.
inline bool holds_keys(const frame& f) {
  return std::holds_alternative<keyring_call>(f) || std::holds_alternative<keyring_reply>(f);
}

/// Whether it has coordinates of nodes (protocol/coordinates).
inline bool is_about_coordinates(const frame& f) {
  return std::holds_alternative<coordinate_probe>(f) || std::holds_alternative<coordinate_answer>(f) ||
         std::holds_alternative<coordinate_news>(f);
}

/// Splits a byte stream into frames.
class frame_decoder {
public:
  /// Appends bytes of the connection; decodes all complete frames into `frames`.
  /// @returns an error if the stream is damaged: close the connection.
  status feed(std::string_view bytes, std::vector<frame>& frames);

  /// Limits frames from now on; at most, and by default, frame_bytes_max.
  void set_frame_bytes_max(std::size_t bytes) {
    PRECONDITION(bytes <= frame_bytes_max);
    frame_bytes_max_ = bytes;
  }
  /// The same for hellos, including the four bytes of their length.
  void set_hello_bytes_max(std::size_t bytes) {
    PRECONDITION(bytes <= frame_bytes_max);
    hello_bytes_max_ = bytes;
  }
  /// Size of the incomplete frame.
  std::size_t unfinished_bytes() const { return pending_.size(); }
  /// Memory reserved for the incomplete frame. After a large frame is complete, most of its memory
  /// is freed.
  std::size_t reserved_bytes() const { return pending_.capacity(); }

private:
  std::string pending_;
  std::size_t frame_bytes_max_ = frame_bytes_max;
  std::size_t hello_bytes_max_ = frame_bytes_max;
};

} // namespace belay::wire
