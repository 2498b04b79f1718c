#pragma once
// Checks that every request is answered in time: within the hold time and a stated slack, whatever
// happens to leaders, links and disks meanwhile.

#include "sim/checkers/kv_model.hpp"
#include "sim/record/history.hpp"

#include <algorithm>
#include <map>

namespace belay::sim {

struct answer_time_rules {
  virtual_time queue_timeout{std::chrono::milliseconds(7000)}; ///< the servers' setting
  /// What may be added: a forwarded request is reported unknown 1 s after the hold time; a leader
  /// that proposed it and loses its quorum steps down in two election timeouts; messages take time.
  virtual_time slack{std::chrono::milliseconds(2500)};
  /// An agent that forwards a request waits as long for a reachable server. Then it takes up to
  /// this time to notice that nothing arrives, over a cut link or from a paused server. A
  /// read is forwarded again, up to three times.
  virtual_time broken_wire{std::chrono::milliseconds(5500)};

  /// @param there how long a server may take for it
  virtual_time through_agent(virtual_time there, bool is_read) const {
    constexpr int attempts = 3;
    return queue_timeout + (is_read ? attempts : 1) * (std::max(queue_timeout, there) + broken_wire);
  }
};

/// Counts time as it passes on the node that got the request. A pause of the node does not count,
/// and no time counts faster than true time, so a clock that jumps ahead shortens nothing.
class answer_time_checker {
public:
  explicit answer_time_checker(answer_time_rules rules) : rules_(rules) {}

  void begun(const operation& op) { begun(op.id, op.node, rendered(op), longest(op)); }
  void ended(const operation& op) { ended(op.id); }

  /// A request of any kind was sent.
  /// @param what for the error: request and client
  /// @param longest without slack
  void begun(std::uint64_t id, std::size_t node, std::string what, virtual_time longest);
  /// It was answered, or its client has given up.
  void ended(std::uint64_t id) { waiting_.erase(id); }

  /// Call it for every node from time to time, with true time and the time on the node's own clock.
  /// @returns the requests that are overdue
  broken look(std::size_t node, bool running, virtual_time now, virtual_time own);

private:
  struct node_time {
    bool running = false;
    virtual_time now{0}, own{0};
    virtual_time passed{0};
  };
  struct request {
    std::size_t node = 0;
    std::string what;
    virtual_time allowed{0}, due{0}; ///< due: in the node's passed time
  };

  static std::string rendered(const operation& op);
  virtual_time longest(const operation& op) const;

  answer_time_rules rules_;
  std::map<std::size_t, node_time> nodes_;
  std::map<std::uint64_t, request> waiting_; ///< by id
};

} // namespace belay::sim
