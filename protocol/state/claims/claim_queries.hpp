#pragma once
// Queries about claims, write guards and ended sessions (docs/reference/claims.md).

#include "protocol/state/claims/claim_answers.hpp"

namespace belay::state {

/// `GET /v1/claim/NAME`; for keys `GET /v1/kv/KEY?claims`. Returns claim_view. Needs key read.
struct claim_read {
  resource_name of;
  bool operator==(const claim_read&) const = default;
};
/// Status of one claim or wait, until it ends. Returns claim_standing. Needs key read on the name.
struct claim_status {
  resource_name of;
  std::string id;
  bool operator==(const claim_status&) const = default;
};
/// `GET /v1/claims`: visible holders and waiters of both spaces, by resource_key() and id.
/// Returns claim_rows. At most one of the first three members is set; none: all claims.
struct claims_list {
  std::optional<std::string> under;   ///< names that begin with it
  std::optional<std::string> session; ///< in any case
  std::optional<std::string> node;    ///< in any case
  std::string after;                  ///< claim_rows::next of the previous page; empty: the first page
  std::size_t rows_max = listed_claims_max;
  bool operator==(const claims_list&) const = default;
};
/// `GET /v1/claims/graph`: the wait-for graph. Returns a wait_graph.
struct claims_graph {
  bool operator==(const claims_graph&) const = default;
};
/// `GET /v1/guards`. Returns guard_rows: those with a prefix that the token may read.
struct guards_list {
  bool operator==(const guards_list&) const = default;
};
/// `GET /v1/session/ended/ID`. Returns 0 or 1 ended_session_rows. Needs session read on its node.
struct session_ended {
  std::string id;
  bool operator==(const session_ended&) const = default;
};

struct claim_row {
  claim_ptr claim;            ///< show its value only if it holds (rule 9)
  std::string node;           ///< node of its session
  std::uint64_t position = 0; ///< for waiters: position; 1 is the head of the queue
};
struct claim_view {
  bool known = false; ///< the resource exists; else the rest is empty, except a key's delays
  claim_kind kind = claim_kind::lock;
  std::uint64_t limit = 0;
  bool pinned = false;
  /// The first listed_claims_max by fencing token; for a key: its holder as a claim, `granted`
  /// unknown.
  std::vector<claim_row> holders;
  std::uint64_t holder_count = 0;  ///< number of all holders
  std::vector<claim_row> queue;    ///< the first listed_claims_max
  std::uint64_t queue_length = 0;  ///< length of the whole queue
  std::vector<claim_ghost> delays; ///< delayed holders by key; for a key: its lock delay, without id and session
  cluster_time now;                ///< time of the machine, to compute waiting times
};
struct claim_standing {
  std::optional<claim_answer> live; ///< it holds or waits
  claim_end_ptr ended;              ///< it has ended, and is remembered; null without `live`: it is unknown
};
struct claim_rows {
  std::vector<claim_row> list; ///< `position` is not set
  std::string next;            ///< claims_list::after of the next page; empty: this is the last one
  cluster_time now;
};
struct wait_graph {
  std::vector<wait_edge> edges;
  bool cut = false; ///< truncated: there are more than graph_nodes_max
};
struct guard_rows {
  std::vector<guard_record> list;
};
struct ended_session_rows {
  std::vector<ended_session_ptr> list;
  cluster_time now;
};

} // namespace belay::state
