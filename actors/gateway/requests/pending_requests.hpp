#pragma once
// The requests that other actors are working on, by id. A response for a request whose client
// is gone, or that was already answered, finds nothing here.

#include "actors/gateway/requests/exchange.hpp"
#include "actors/request_ids.hpp"

#include <memory>
#include <unordered_map>
#include <vector>

namespace belay::actors {

/// How long a request may take.
struct answer_times {
  std::chrono::nanoseconds queue_timeout; ///< how long other actors may queue it while there is no leader
  std::chrono::nanoseconds slack;         ///< additional time for their response

  monotonic_time due(monotonic_time now) const { return now + queue_timeout + slack; }
};

class pending_requests {
public:
  /// @param gateway its number, the upper 16 bits of all ids
  /// @param seed must differ between processes
  pending_requests(std::uint16_t gateway, std::uint64_t seed) : ids_(gateway, seed) {}

  /// A new id for `e`, which its response carries. `e` must stay valid until settled or forgotten.
  request_id add(exchange& e) {
    e.id = ids_.next();
    requested_.insert_or_assign(e.id, &e);
    load_ += e.load;
    return e.id;
  }
  request_id add(exchange& e, monotonic_time deadline) {
    e.deadline = deadline;
    return add(e);
  }
  /// The exchange with this id, which is no longer pending; null: its client is gone.
  /// Its requester is notified by progress().
  exchange* settle(request_id id);
  /// The exchange with this id, which stays pending; null: it was settled or forgotten.
  exchange* find(request_id id) const {
    const auto it = requested_.find(id);
    return it == requested_.end() ? nullptr : it->second;
  }
  /// @returns false: it is not pending
  bool forget(const exchange& e);
  /// Sum over all pending requests.
  std::size_t load() const { return load_; }
  /// A new id for a request whose response does not belong to an exchange.
  request_id unclaimed_id() { return ids_.next(); }

  /// Notifies the requesters of all settled exchanges.
  void progress();
  /// Cancels these notifications.
  void drop_settled() { touched_.clear(); }

private:
  request_ids ids_;
  std::unordered_map<request_id, exchange*> requested_;
  std::size_t load_ = 0;
  std::vector<std::shared_ptr<requester>> touched_; ///< have settled exchanges
  std::vector<std::shared_ptr<requester>> unused_;  ///< memory for touched_
};

} // namespace belay::actors
