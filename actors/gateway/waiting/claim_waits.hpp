#pragma once
// Claims, and acquires of keys, that were asked for and wait in a queue of the state machine. The answer comes from what this server
// applies, whichever server the command went through (docs/claims.md, rules 23 and 39).

#include "actors/gateway/requests/outbox.hpp"
#include "actors/gateway/requests/pending_requests.hpp"

#include <map>
#include <optional>
#include <string>

namespace belay::actors {

class claim_waits {
public:
  /// @param out,pending outlive it
  claim_waits(outbox& out, pending_requests& pending, answer_times times)
      : out_(out), pending_(pending), times_(times) {}

  /// @returns true: it was told to wait and its client wants to; false: `r` is the answer
  bool begin(exchange& e, const write_result& r, monotonic_time now);
  /// The answer to what was asked for `e`. @pre e.in_queue
  void answered(exchange& e, const read_result& r, monotonic_time now);
  /// It is proposed: the place that the same session may have in the queue of that key is not to be given up meanwhile.
  void asks(const state::command& c);
  /// The exchange is about to be destroyed. If its client disconnected, the wait is withdrawn after a while, once it is known that it waits.
  void forgotten(const exchange& e);
  /// The result of a request that was forgotten before; others are ignored.
  void decided_late(const write_result& r);
  /// An acquire that some server does not understand yet is asked for as servers of before know it: it waits for the end of a lock delay, and
  /// in no queue. @returns false: it was not refused for that, or asks for more. Else it is to be proposed again
  static bool make_plain(exchange& e, const write_result& r);

private:
  struct lone_acquire {
    std::string key, session;
    monotonic_time until;
  };

  std::optional<lone_acquire> take_lone(request_id id);
  void note_disconnect(const exchange& e);
  void ask(exchange& e, state::claim_status what, log_index asked_at, monotonic_time now);
  /// When it is answered at the latest.
  monotonic_time end_of(const exchange& e) const;

  outbox& out_;
  pending_requests& pending_;
  answer_times times_;
  std::map<request_id, lone_acquire> lone_; ///< whose clients disconnected before the outcome was known
  std::size_t lone_bytes_ = 0;
};

} // namespace belay::actors
