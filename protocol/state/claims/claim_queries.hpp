#pragma once
// What can be read of claims, guards and ended sessions (docs/claims.md).

#include "protocol/state/claims/claim_answers.hpp"

namespace belay::state {

/// `GET /v1/claim/NAME`; of keys `GET /v1/kv/KEY?claims`. Answers a claim_view. Needs key read on the name.
struct claim_read {
  resource_name of;
  bool operator==(const claim_read&) const = default;
};
/// How one claim, or one wait for a key's lock, stands: for whoever waits for its end. Answers a claim_standing. Needs key read on the name.
struct claim_status {
  resource_name of;
  std::string id;
  bool operator==(const claim_status&) const = default;
};
/// `GET /v1/claims`: holders and waiters of both spaces, in the order of resource_key() and id. Answers claim_rows. Exactly one of the first
/// three counts; with none of them all are meant. What may not be read is left out.
struct claims_list {
  std::optional<std::string> under;   ///< names that begin with it
  std::optional<std::string> session; ///< in any case
  std::optional<std::string> node;    ///< in any case
  std::string after;                  ///< claim_rows::next of the page before; empty: the first page
  std::size_t rows_max = listed_claims_max;
  bool operator==(const claims_list&) const = default;
};
/// `GET /v1/claims/graph`: who waits for whom. Answers a wait_graph.
struct claims_graph {
  bool operator==(const claims_graph&) const = default;
};
/// `GET /v1/guards`. Answers guard_rows: those whose prefix may be read.
struct guards_list {
  bool operator==(const guards_list&) const = default;
};
/// `GET /v1/session/ended/ID`. Answers ended_session_rows with one row or none. Needs session read on its node, or it is left out.
struct session_ended {
  std::string id;
  bool operator==(const session_ended&) const = default;
};

struct claim_row {
  claim_ptr claim;         ///< its value is to be shown only of holders (rule 9)
  std::string node;        ///< of its session
  std::uint64_t place = 0; ///< of waiters: 1 is the head of the queue
};
struct claim_view {
  bool known = false; ///< the resource exists; else the rest is empty, but for delays of a key
  claim_kind kind = claim_kind::lock;
  std::uint64_t limit = 0;
  bool pinned = false;
  std::vector<claim_row>
      holders; ///< the first listed_claims_max of them in the order of their fences; of a key: its holder as a claim, `granted` unknown
  std::uint64_t holder_count = 0;  ///< all of them
  std::vector<claim_row> queue;    ///< the first listed_claims_max of it
  std::uint64_t queue_length = 0;  ///< all of it
  std::vector<claim_ghost> delays; ///< in the order of their keys; of a key: its lock delay, without id and session
  cluster_time now;                ///< of the machine, for how long they wait
};
struct claim_standing {
  std::optional<claim_answer> live; ///< it holds or waits
  claim_end_ptr ended; ///< it came to its end and is remembered; null with `live` absent: nothing is known of it
};
struct claim_rows {
  std::vector<claim_row> list; ///< `place` is not told
  std::string next;            ///< claims_list::after of the next page; empty: this is the last one
  cluster_time now;
};
struct wait_graph {
  std::vector<wait_edge> edges;
  bool cut = false; ///< there are more than graph_nodes_max
};
struct guard_rows {
  std::vector<guard_record> list;
};
struct ended_session_rows {
  std::vector<ended_session_ptr> list;
  cluster_time now;
};

} // namespace belay::state
