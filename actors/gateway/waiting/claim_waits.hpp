#pragma once
// Claims, and acquires of keys, that wait in a queue of the state machine. Results come from what
// this server applies, whichever server proposed the command (docs/reference/claims.md, rules 23 and 39).

#include "actors/gateway/requests/outbox.hpp"
#include "actors/gateway/requests/pending_requests.hpp"

#include <map>
#include <optional>
#include <string>

namespace belay::actors {

class claim_waits {
public:
  /// @param out,pending must outlive this object
  claim_waits(outbox& out, pending_requests& pending, answer_times times)
      : out_(out), pending_(pending), times_(times) {}

  /// @returns true: it waits in the queue, as its client requested; false: `r` is the answer
  bool begin(exchange& e, const write_result& r, monotonic_time now);
  /// The response to the query for `e`. @pre e.in_queue
  void answered(exchange& e, const read_result& r, monotonic_time now);
  /// An acquire is proposed: its session's position in the key's queue must be kept meanwhile.
  void asks(const state::command& c);
  /// The exchange will be destroyed. If its client disconnected, a queued wait is withdrawn later.
  void forgotten(const exchange& e);
  /// The result of a request that was forgotten before; others are ignored.
  void decided_late(const write_result& r);
  /// Replaces an acquire that some server does not support by one for earlier versions, which waits
  /// for the lock delay, not in a queue. @returns false: not applicable. Else propose it again
  static bool make_plain(exchange& e, const write_result& r);

private:
  struct lone_acquire {
    std::string key, session;
    monotonic_time until;
  };

  std::optional<lone_acquire> take_lone(request_id id);
  void note_disconnect(const exchange& e);
  void ask(exchange& e, state::claim_status what, log_index requested_at, monotonic_time now);
  /// The latest end of the wait.
  monotonic_time end_of(const exchange& e) const;

  outbox& out_;
  pending_requests& pending_;
  answer_times times_;
  std::map<request_id, lone_acquire> lone_; ///< their clients disconnected before the outcome was known
  std::size_t lone_bytes_ = 0;
};

} // namespace belay::actors
