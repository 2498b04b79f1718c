#pragma once
// A client that waits for a claim or a lock gets its response when its server has applied the grant
// or the end, not when its wait expires (docs/reference/claims.md, rules 23 and 39). So do watching readers.

#include "sim/checkers/kv_model.hpp"
#include "sim/record/history.hpp"

#include <map>
#include <optional>

namespace belay::sim {

/// Times are true times. reply_checker checks the responses themselves.
class wait_checker {
public:
  /// @param slack from the entry being applied until the client has the response
  wait_checker(const kv_model& model, virtual_time slack) : model_(model), slack_(slack) {}

  void begun(const operation& op);
  /// The server has parked the request.
  void held(std::uint64_t operation_id, virtual_time now);
  /// Call it when that node has applied the log up to `index`. @pre index <= model.applied()
  broken applied(std::size_t node, int life, log_index index, virtual_time now);
  broken node_stopped(std::size_t node, virtual_time now);
  broken node_resumed(std::size_t node, virtual_time now);
  broken ended(const operation& op);

private:
  struct waiting {
    std::size_t node = 0;
    int life = 0;
    state::resource_name of;
    std::string id;
    bool held = false;
    bool seen = false;      ///< in the queue
    log_index requested_by; ///< its own entry is at this index or before it
    claims_state_ptr read;  ///< state that the client of a read has seen; null: not a read
    log_index read_at;
    bool decided = false; ///< it was granted, or its wait ended, or what was read has changed
    log_index decided_by;
    std::optional<virtual_time> due; ///< nullopt: not decided, or its node is paused
  };
  struct node_state {
    int life = 0;
    log_index applied;
    bool stopped = false;
  };

  bool is_decided(waiting& w, log_index applied) const;
  void look(waiting& w, const node_state& n, virtual_time now) const;
  broken overdue(virtual_time now) const;

  const kv_model& model_;
  virtual_time slack_;
  std::map<std::size_t, node_state> nodes_;
  std::map<std::uint64_t, waiting> waiting_; ///< by operation
};

} // namespace belay::sim
