#pragma once
// Replies to commands about claims, and their effects on waiters (docs/reference/claims.md).

#include "protocol/state/claims/claim_records.hpp"

#include <optional>

namespace belay::state {

/// A claim that precedes a waiter.
struct claim_ahead {
  std::string id, session;
  claim_state state = claim_state::waiting;

  bool operator==(const claim_ahead&) const = default;
};
template <>
inline constexpr auto fields_of<claim_ahead> = std::tuple{
    field<&claim_ahead::id, "ID">{},
    field<&claim_ahead::session, "Session">{},
    field<&claim_ahead::state, "State">{},
};

/// Status of a claim, or of a wait for a key's lock.
struct claim_answer {
  resource_name of;
  std::string id, session;
  claim_state state = claim_state::waiting;
  std::uint64_t fence = 0;        ///< held
  std::uint64_t position = 0;     ///< waiting: position; 1 is the head of the queue
  std::vector<claim_ahead> ahead; ///< waiting: the holders, then the queue in order; at most ahead_max
  log_index index;                ///< index of the grant, or of the newest change of the wait
  bool search_cut = false;        ///< the deadlock search stopped at graph_nodes_max (rule 32): for a metric

  bool operator==(const claim_answer&) const = default;
};
template <>
inline constexpr auto fields_of<claim_answer> = std::tuple{
    field<&claim_answer::of>{},
    field<&claim_answer::id, "ID">{},
    field<&claim_answer::session, "Session">{},
    field<&claim_answer::state, "State">{},
    field<&claim_answer::fence, "Fence">{},
    field<&claim_answer::position, "Position">{},
    field<&claim_answer::ahead, "Ahead">{},
    field<&claim_answer::index, "Index">{},
    field<&claim_answer::search_cut>{},
};

enum class claim_error : std::uint8_t {
  parameter = 0,       ///< claim_refusal::parameter has its name
  value_size = 1,      ///< above claim_value_bytes_max
  unknown_session = 2, ///< there is no session with that ID
  unknown_claim = 3,   ///< no claim with that id holds or waits
  kind = 4,            ///< the resource is of another kind
  limit = 5,           ///< the semaphore has another limit
  id = 6,              ///< the id belongs to another session
  deadlock = 7,        ///< claim_refusal::cycle has it
  mode = 8,            ///< only a holder of rw can change its mode, from exclusive to shared
  not_held = 9,        ///< the claim waits
  no_waiter = 10,      ///< no waiter to transfer to
  fence = 11,          ///< not the fencing token of a current holder
  guarded = 12,        ///< a write guard requires a fencing token, and none was given
  overlap = 13,        ///< another write guard is above or below
  ended = 14,          ///< the id has ended: claim_refusal::ended
  queue_full = 15,     ///< waiters_max
  bytes_full = 16,     ///< queued_bytes_max
  guards_full = 17,    ///< guards_max
  ends_full = 18,      ///< claim_end_bytes_max
};
template <>
inline constexpr auto names_of<claim_error> =
    std::to_array<std::string_view>({"parameter", "value-size", "unknown-session", "unknown-claim", "kind", "limit",
                                     "id", "deadlock", "mode", "not-held", "no-waiter", "fence", "guarded", "overlap",
                                     "ended", "queue-full", "bytes-full", "guards-full", "ends-full"});
static_assert(count_of<claim_error> == static_cast<std::size_t>(claim_error::ends_full) + 1);

/// The HTTP status.
constexpr int status_of(claim_error e) {
  switch (e) {
  case claim_error::parameter:
    return 400;
  case claim_error::unknown_session:
  case claim_error::unknown_claim:
    return 404;
  case claim_error::kind:
  case claim_error::limit:
  case claim_error::id:
  case claim_error::deadlock:
  case claim_error::mode:
  case claim_error::not_held:
  case claim_error::no_waiter:
  case claim_error::fence:
  case claim_error::guarded:
  case claim_error::overlap:
    return 409;
  case claim_error::ended:
    return 410;
  case claim_error::value_size:
    return 413;
  case claim_error::queue_full:
  case claim_error::bytes_full:
  case claim_error::guards_full:
  case claim_error::ends_full:
    return 429;
  }
  return 500;
}

/// An edge of the wait-for graph, or of a cycle in it: a session
/// waits for a resource, and the blocker blocks it.
struct wait_edge {
  std::string session, id; ///< the waiter
  resource_name on;        ///< the resource; without a name, and `hidden`, if the token may not read it
  bool hidden = false;
  std::string blocker;        ///< the session that it waits for
  bool blocker_holds = false; ///< else it is ahead in the queue

  bool operator==(const wait_edge&) const = default;
};
template <>
inline constexpr auto fields_of<wait_edge> = std::tuple{
    field<&wait_edge::session, "Session">{},
    field<&wait_edge::id, "ID">{},
    field<&wait_edge::on>{},
    field<&wait_edge::hidden, "Redacted">{},
    field<&wait_edge::blocker, "Blocker">{},
    field<&wait_edge::blocker_holds, "BlockerHolds">{},
};

/// Nothing was changed, except what was due anyway.
struct claim_refusal {
  claim_error why = claim_error::parameter;
  std::string text;      ///< for the client
  std::string parameter; ///< claim_error::parameter
  std::vector<wait_edge> cycle;
  std::optional<claim_end> ended; ///< claim_error::ended
};
template <>
inline constexpr auto fields_of<claim_refusal> = std::tuple{
    field<&claim_refusal::why>{},   field<&claim_refusal::text>{},  field<&claim_refusal::parameter>{},
    field<&claim_refusal::cycle>{}, field<&claim_refusal::ended>{},
};

/// The refusal of a request that names an id that has ended.
inline claim_refusal refuse_ended(const claim_end_record& end) {
  claim_refusal r;
  r.why = claim_error::ended;
  r.text = "claim \"" + end.id + "\" ended: " + std::string(name_of(end.why));
  r.ended = end.why;
  return r;
}

// ---- effects

/// The resource changed: wakes its readers. Of a key's lock only the queue; else kv_changed.
struct claim_changed {
  resource_name of;
};
/// This entry granted a claim, or a waiting acquire: the waiting request gets its response.
struct claim_granted {
  resource_name of;
  std::string id, session;
  std::uint64_t fence = 0;
  log_index index;
};
/// This entry ended a claim, or a wait for a key's lock; if it was waiting, without a grant.
struct claim_ended {
  resource_name of;
  std::string id, session;
  claim_end why = claim_end::released;
  std::string cause; ///< for claim_end::session: that of the session
  bool was_waiting = true;
  log_index index;
};
/// machine::next_alarm() changed. Zero: nothing is due.
struct claims_alarm_moved {
  cluster_time at;
};
/// Write guards were set or removed.
struct guards_changed {};

} // namespace belay::state
