#pragma once
// What Raft servers store (entries, configurations, votes) and the messages between them.
// "Dissertation", here and in all of protocol/raft, is D. Ongaro, "Consensus: Bridging
// Theory and Practice", Stanford 2014; the numbers after it are its sections and figures.

#include "protocol/base/bytes.hpp"
#include "protocol/base/ids.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace belay::raft {

/// Stored: never renumber.
enum class entry_kind : std::uint8_t { noop = 0, command = 1, configuration = 2 };
std::string_view name_of(entry_kind k);

/// A log entry. `data` is never null; it is empty for a no-op.
struct entry {
  log_index index;
  term_id term;
  cluster_time time; ///< stamped by the leader, never less than the previous entry's
  entry_kind kind = entry_kind::noop;
  payload data;
};

/// A server of the cluster as the configuration names it.
struct member {
  node_id id;
  std::string uuid;    ///< Consul's node ID, 36 characters
  std::string name;    ///< Consul's node name
  std::string address; ///< host:port of the server port (peers connect to it)

  bool operator==(const member&) const = default;
};

/// Voters and learners. Joint while `voters_old` is not empty: then a
/// majority of each of the two sets of voters is needed (dissertation 4.3).
struct configuration {
  std::vector<member> members; ///< every server named below, sorted by id, no duplicates
  std::vector<node_id> voters; ///< sorted, like the two below
  std::vector<node_id> voters_old;
  std::vector<node_id> learners; ///< receive the log and do not vote

  bool joint() const { return !voters_old.empty(); }
  bool empty() const { return voters.empty(); }
  bool is_voter(node_id id) const; ///< in either of the two sets
  bool contains(node_id id) const;
  const member* find(node_id id) const;
  bool operator==(const configuration&) const = default;
};

std::string encode(const configuration& c);
/// nullopt: not a well-formed configuration (e.g. unsorted, duplicate or unknown ids).
std::optional<configuration> decode_configuration(std::string_view bytes);

/// What must survive a restart besides the entries. One value, so that a
/// vote is never stored or lost without its term (docs/internals/pitfalls.md R1).
struct hard_state {
  term_id term;
  node_id voted_for; ///< zero: none in this term

  bool operator==(const hard_state&) const = default;
};

/// Position of a checkpoint: it includes everything up to `index`.
struct snapshot_meta {
  log_index index;
  term_id term;
  cluster_time time; ///< cluster time of the entry at `index`
  configuration config;

  bool operator==(const snapshot_meta&) const = default;
};

// ---- messages

/// Entries for a follower; without entries, a heartbeat. `round` is the number of the leader's
/// newest read round in its term. The reply shows that the follower still followed when that round
/// began (protocol/raft/leading.hpp).
struct append_entries {
  log_index prev_index;
  term_id prev_term;
  log_index commit;
  std::uint64_t round = 0;
  std::vector<entry> entries; ///< contiguous, from prev_index + 1
};

struct append_reply {
  bool success = false;
  log_index match;          ///< success: the follower's log is durable and equal to the leader's up to here
  log_index rejected;       ///< failure: the prev_index that did not match
  log_index conflict_index; ///< failure: where to try next
  term_id conflict_term;    ///< failure: the follower's term at conflict_index; zero if its log ends before
  std::uint64_t round = 0;  ///< echoed
};

struct vote_request {
  bool pre_vote = false;
  /// Requested by the current leader: voters grant it although they hear a leader (dissertation
  /// 4.2.3).
  bool transfer = false;
  log_index last_index;
  term_id last_term;
};

/// Echoes the kind, so that a reply to a pre-vote is never counted as a vote (docs/internals/pitfalls.md R2).
struct vote_reply {
  bool pre_vote = false;
  bool granted = false;
};

/// A part of a checkpoint, at most limits::snapshot_chunk_bytes_max. Parts come in
/// order. An empty part that is not the last asks the follower where to continue.
struct snapshot_chunk {
  snapshot_meta meta;
  std::uint64_t offset = 0;
  payload bytes;
  bool last = false;
};

struct snapshot_reply {
  log_index index;               ///< index of the checkpoint
  std::uint64_t next_offset = 0; ///< where the follower needs to continue
  bool installed = false;        ///< it has replaced the follower's state
  bool rejected = false;         ///< damaged or not needed: restart
};

/// Leadership transfer: the receiver must campaign at once.
struct timeout_now {};

using message_body =
    std::variant<append_entries, append_reply, vote_request, vote_reply, snapshot_chunk, snapshot_reply, timeout_now>;

/// `term` is the sender's; in a pre-vote request, the term that it would campaign for.
struct message {
  node_id from;
  node_id to;
  term_id term;
  message_body body;
};

} // namespace belay::raft
