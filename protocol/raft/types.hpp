#pragma once
// What Raft servers keep (entries, configurations, votes) and the messages they send each other. "Dissertation", here
// and in all of protocol/raft, is D. Ongaro, "Consensus: Bridging Theory and Practice", Stanford 2014; numbers behind
// it are its sections and figures.

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

/// One log entry. `data` is never null; it is empty for a no-op.
struct entry {
  log_index index;
  term_id term;
  cluster_time time; ///< stamped by the leader, never less than that of the entry before
  entry_kind kind = entry_kind::noop;
  payload data;
};

/// One server of the cluster as the configuration names it.
struct member {
  node_id id;
  std::string uuid;    ///< Consul's node ID, 36 characters
  std::string name;    ///< Consul's node name
  std::string address; ///< host:port of the server port (peers dial it)

  bool operator==(const member&) const = default;
};

/// Who votes and who only gets the log. Joint while `voters_old` is not empty: then a majority of each of the two sets
/// of voters is needed (dissertation 4.3).
struct configuration {
  std::vector<member> members; ///< everybody named below, sorted by id, no duplicates
  std::vector<node_id> voters; ///< sorted, as the two below
  std::vector<node_id> voters_old;
  std::vector<node_id> learners; ///< get the log and do not vote

  bool joint() const { return !voters_old.empty(); }
  bool empty() const { return voters.empty(); }
  bool is_voter(node_id id) const; ///< in either of the two sets
  bool contains(node_id id) const;
  const member* find(node_id id) const;
  bool operator==(const configuration&) const = default;
};

std::string encode(const configuration& c);
/// nullopt: not a well-formed configuration (unsorted, duplicate or unknown ids included).
std::optional<configuration> decode_configuration(std::string_view bytes);

/// What must survive a restart beside the entries. One value, so that a vote is never kept or lost without its term
/// (docs/pitfalls.md R1).
struct hard_state {
  term_id term;
  node_id voted_for; ///< zero: nobody in this term

  bool operator==(const hard_state&) const = default;
};

/// Where a checkpoint stands: everything up to `index` is in it.
struct snapshot_meta {
  log_index index;
  term_id term;
  cluster_time time; ///< of the entry at `index`
  configuration config;

  bool operator==(const snapshot_meta&) const = default;
};

// ---- messages

/// Entries for a follower; without entries, a heartbeat. `round` is the number of the leader's newest read round,
/// counted within its term: the answer shows that the follower still followed when that round began
/// (protocol/raft/leading.hpp).
struct append_entries {
  log_index prev_index;
  term_id prev_term;
  log_index commit;
  std::uint64_t round = 0;
  std::vector<entry> entries; ///< contiguous, from prev_index + 1
};

struct append_reply {
  bool success = false;
  log_index match;          ///< success: all up to here is durable on the follower and equal to the leader's log
  log_index rejected;       ///< failure: the prev_index that did not fit
  log_index conflict_index; ///< failure: where to try next
  term_id conflict_term;    ///< failure: the follower's term at conflict_index; zero if its log ends before
  std::uint64_t round = 0;  ///< echoed
};

struct vote_request {
  bool pre_vote = false;
  bool transfer =
      false; ///< the leader asked for this campaign: granted although a leader is heard (dissertation 4.2.3)
  log_index last_index;
  term_id last_term;
};

/// Echoes the kind, so that the answer to a pre-vote is never counted as a vote (docs/pitfalls.md R2).
struct vote_reply {
  bool pre_vote = false;
  bool granted = false;
};

/// A part of a checkpoint, at most limits::snapshot_chunk_bytes_max. Parts come in order. One without bytes that is not the
/// last is a question: where does the follower want to go on?
struct snapshot_chunk {
  snapshot_meta meta;
  std::uint64_t offset = 0;
  payload bytes;
  bool last = false;
};

struct snapshot_reply {
  log_index index;               ///< of the checkpoint meant
  std::uint64_t next_offset = 0; ///< where the follower wants to go on
  bool installed = false;        ///< all of it is in force
  bool rejected = false;         ///< damaged or not wanted: begin anew
};

/// Leadership transfer: the receiver is to campaign at once.
struct timeout_now {};

using message_body =
    std::variant<append_entries, append_reply, vote_request, vote_reply, snapshot_chunk, snapshot_reply, timeout_now>;

/// `term` is the sender's; for a pre-vote request it is the term that would be campaigned for.
struct message {
  node_id from;
  node_id to;
  term_id term;
  message_body body;
};

} // namespace belay::raft
