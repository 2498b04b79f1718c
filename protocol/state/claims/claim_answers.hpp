#pragma once
// What commands about claims answer, and what they change for those who wait (docs/claims.md).

#include "protocol/state/claims/claim_records.hpp"

#include <optional>

namespace belay::state {

/// Somebody who comes before a waiter.
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

/// How a claim, or a wait for a key's lock, stands.
struct claim_answer {
  resource_name of;
  std::string id, session;
  claim_state state = claim_state::waiting;
  std::uint64_t fence = 0;        ///< held
  std::uint64_t place = 0;        ///< waiting: 1 is the head of the queue
  std::vector<claim_ahead> ahead; ///< waiting: at most ahead_max: the holders, then the queue in its order
  log_index index;                ///< of the grant, or of the newest change of the wait
  bool search_cut = false; ///< more than graph_nodes_max had to be looked at for a deadlock (rule 32): for a metric

  bool operator==(const claim_answer&) const = default;
};
template <>
inline constexpr auto fields_of<claim_answer> = std::tuple{
    field<&claim_answer::of>{},
    field<&claim_answer::id, "ID">{},
    field<&claim_answer::session, "Session">{},
    field<&claim_answer::state, "State">{},
    field<&claim_answer::fence, "Fence">{},
    field<&claim_answer::place, "Place">{},
    field<&claim_answer::ahead, "Ahead">{},
    field<&claim_answer::index, "Index">{},
    field<&claim_answer::search_cut>{},
};

enum class claim_error : std::uint8_t {
  parameter = 0,       ///< claim_refusal::parameter says which
  value_size = 1,      ///< above claim_value_bytes_max
  unknown_session = 2, ///<
  unknown_claim = 3,   ///< no claim of that id holds or waits
  kind = 4,            ///< the resource is of another kind
  limit = 5,           ///< the semaphore has another limit
  id = 6,              ///< the id belongs to another session
  deadlock = 7,        ///< claim_refusal::cycle shows it
  mode = 8,            ///< only a holder of rw can change his, from exclusive to shared
  not_held = 9,        ///< the claim waits
  no_waiter = 10,      ///< nobody to hand over to
  fence = 11,          ///< it is not, or not any more, that of a holder
  guarded = 12,        ///< a guard asks for a fence that was not named
  overlap = 13,        ///< another guard stands above or below
  ended = 14,          ///< the id came to its end: claim_refusal::ended
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

/// One step of a cycle, or one edge of the graph of who waits for whom: the session waits for that resource, for which the next one stands in
/// its way.
struct wait_edge {
  std::string session, id; ///< who waits
  resource_name on;        ///< for what; its name is empty and `hidden` set if it may not be read by who asks
  bool hidden = false;
  std::string blocker;        ///< the session that it waits for
  bool blocker_holds = false; ///< else it stands before it in the queue

  bool operator==(const wait_edge&) const = default;
};
template <>
inline constexpr auto fields_of<wait_edge> = std::tuple{
    field<&wait_edge::session, "Session">{},
    field<&wait_edge::id, "ID">{},
    field<&wait_edge::on>{},
    field<&wait_edge::hidden, "Hidden">{},
    field<&wait_edge::blocker, "Blocker">{},
    field<&wait_edge::blocker_holds, "BlockerHolds">{},
};

/// Nothing was changed, but for what was due anyway.
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

/// Of what is asked for under an id that has ended.
inline claim_refusal refuse_ended(const claim_end_record& end) {
  claim_refusal r;
  r.why = claim_error::ended;
  r.text = "claim \"" + end.id + "\" ended: " + std::string(name_of(end.why));
  r.ended = end.why;
  return r;
}

// ---- effects

/// Something of the resource changed: whoever reads it looks again. For the lock of a key: its queue; the key itself is a kv_changed.
struct claim_changed {
  resource_name of;
};
/// A claim, or a wait for a key's lock, became a holder by this entry: whoever waits for the answer has it.
struct claim_granted {
  resource_name of;
  std::string id, session;
  std::uint64_t fence = 0;
  log_index index;
};
/// A claim, or a wait for a key's lock, came to its end by this entry, without a grant if it was waiting.
struct claim_ended {
  resource_name of;
  std::string id, session;
  claim_end why = claim_end::released;
  std::string cause; ///< of claim_end::session: that of the session
  bool was_waiting = true;
  log_index index;
};
/// Something is due at another time than before (machine::next_alarm()). Zero: nothing is.
struct claims_alarm_moved {
  cluster_time at;
};
/// Guards were set or removed.
struct guards_changed {};

} // namespace belay::state
