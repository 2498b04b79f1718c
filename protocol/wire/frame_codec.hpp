#pragma once
// What nodes say to each other, as versioned bytes on one ordered connection per direction.
//
//   u32 length of what follows | u32 CRC32C of what follows that | u8 version (1) | u8 kind | body
//
// Integers are little-endian. A frame that is too long, damaged or of another version ends the connection.

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

/// Largest frame accepted: an append of 1 MiB plus one oversized entry (a transaction of 64 values of 512 KiB) and
/// room.
inline constexpr std::size_t frame_bytes_max = 64u << 20;

/// First frame of a connection and again on every change: who speaks.
struct hello {
  raft::member self;
  std::string datacenter;
  std::uint64_t cluster_id = 0; ///< zero: belongs to no cluster yet
  std::uint32_t bootstrap_expect = 0;
  /// The set that this server has promised to make its first configuration of, sorted by id; empty: none.
  std::vector<raft::member> agreed;
  /// What the sender understands (protocol/state/feature_levels.hpp); 0: a server from before there were levels.
  state::feature_level level = 0;

  // What servers of earlier versions neither say nor understand. It is told in a way that they read and do not look at:
  // frame_codec.cpp.
  std::vector<std::string> known = {}; ///< host:port of other servers that this one hears or has in its configuration
  bool has_log = false;                ///< it has entries, or a term
  bool hears_cluster = false;          ///< it hears a server that belongs to a cluster or has a log
  bool disk_full = false;              ///< it acknowledges nothing
  bool promises = false;               ///< it knows of rounds (protocol/raft/formation.hpp)
  std::uint64_t round = 0;             ///< of `agreed`
  bool given_up = false;
  std::vector<std::uint64_t> refused = {}; ///< clusters whose first configuration this server has given up
  bool knows_replicas = false;             ///< it makes no voter of a replica (docs/adr/0013)
  bool replica = false;                    ///< it is one: it is to have no vote
  bool coordinates = false;                ///< it understands frames about coordinates (docs/adr/0015)
  bool client_agent =
      false; ///< no server speaks: behind this follow requests in HTTP, and this connection brings their answers

  bool operator==(const hello&) const = default;
};

/// Sent regularly, and after a change of the configuration, to peers of feature level 1 and above.
struct gossip {
  raft::clock_mark clock;
  std::vector<node_id> members; ///< of the configuration that the sender knows (raft::core::told_of)
};

// Requests and their answers, under the names of their frames.
using forward::call_kind;
using forward::call_outcome;
using forward::keyring_call;  // to peers of feature level 2 and above
using forward::keyring_reply; // likewise
using forward::read_index;
using forward::read_index_reply;
using coordinate_probe = coordinates::probe; // these to peers whose hello says that they understand them
using coordinate_answer = coordinates::probe_answer;
using coordinate_news = coordinates::news;
using forward_call = forward::call;
using forward_reply = forward::reply;

using frame = compiled_once<
    std::variant<hello, raft::message, forward_call, forward_reply, read_index, read_index_reply, agent::user_event,
                 gossip, keyring_call, keyring_reply, coordinate_probe, coordinate_answer, coordinate_news>>;

/// Appends one frame.
void encode_frame(const frame& f, std::string& out);
/// It must not be read by others than the peer: it travels over connections with credentials only.
inline bool holds_keys(const frame& f) {
  return std::holds_alternative<keyring_call>(f) || std::holds_alternative<keyring_reply>(f);
}

/// Where nodes are (protocol/coordinates).
inline bool is_about_coordinates(const frame& f) {
  return std::holds_alternative<coordinate_probe>(f) || std::holds_alternative<coordinate_answer>(f) ||
         std::holds_alternative<coordinate_news>(f);
}

/// Cuts a byte stream into frames.
class frame_decoder {
public:
  /// Appends what was read from the connection; decodes all complete frames into `frames`.
  /// @returns a failure if the stream is broken: close the connection.
  status feed(std::string_view bytes, std::vector<frame>& frames);

  /// Larger frames break the stream from now on; at most frame_bytes_max, which is where it begins.
  void set_frame_bytes_max(std::size_t bytes) { frame_bytes_max_ = bytes; }
  /// The same for introductions, with the four bytes of their length.
  void set_hello_bytes_max(std::size_t bytes) { hello_bytes_max_ = bytes; }
  /// Of a frame that is not complete yet.
  std::size_t unfinished_bytes() const { return pending_.size(); }
  /// What is reserved for it; little once a large frame is complete.
  std::size_t reserved_bytes() const { return pending_.capacity(); }

private:
  std::string pending_;
  std::size_t frame_bytes_max_ = frame_bytes_max;
  std::size_t hello_bytes_max_ = frame_bytes_max;
};

} // namespace belay::wire
