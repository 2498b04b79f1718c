#pragma once
// The requests that other actors are working on, by the number under which they were asked. An answer that comes for a
// request whose client is gone, or that was answered already, finds nothing here.

#include "actors/gateway/requests/exchange.hpp"
#include "actors/request_ids.hpp"

#include <memory>
#include <unordered_map>
#include <vector>

namespace belay::actors {

/// How long a request may be without an answer.
struct answer_times {
  std::chrono::nanoseconds hold;  ///< how long others may keep it while there is no leader
  std::chrono::nanoseconds slack; ///< and how much later their answer may come

  monotonic_time due(monotonic_time now) const { return now + hold + slack; }
};

class pending_requests {
public:
  /// @param gateway its number, the upper 16 bits of all ids
  /// @param seed differs from process to process
  pending_requests(std::uint16_t gateway, std::uint64_t seed) : ids_(gateway, seed) {}

  /// A new id for `e`, which is answered with it. `e` stays valid until it is settled or forgotten.
  request_id add(exchange& e) {
    e.id = ids_.next();
    asked_.insert_or_assign(e.id, &e);
    load_ += e.load;
    return e.id;
  }
  request_id add(exchange& e, monotonic_time deadline) {
    e.deadline = deadline;
    return add(e);
  }
  /// The exchange that was asked with this id, no longer waited for; null: its client is gone. Its requester will be
  /// told by progress().
  exchange* settle(request_id id);
  /// The exchange that was asked with this id and waits on; null: it was settled or forgotten.
  exchange* find(request_id id) const {
    const auto it = asked_.find(id);
    return it == asked_.end() ? nullptr : it->second;
  }
  /// @returns false: nobody was asked, or the answer has come
  bool forget(const exchange& e);
  /// Of all that are worked on.
  std::size_t load() const { return load_; }
  /// An id with which nobody waits for the answer.
  request_id unclaimed_id() { return ids_.next(); }

  /// Tells the requesters of all that was settled.
  void progress();
  /// Of those that were settled, nobody is told any more.
  void drop_settled() { touched_.clear(); }

private:
  request_ids ids_;
  std::unordered_map<request_id, exchange*> asked_;
  std::size_t load_ = 0;
  std::vector<std::shared_ptr<requester>> touched_; ///< have exchanges that were settled
};

} // namespace belay::actors
