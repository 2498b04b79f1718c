#pragma once
// Checks blocking queries: no index goes back, no query returns before its time without a change,
// and no change is missed (docs/internals/pitfalls.md C5, C6; docs/contract/02, section 4).

#include "sim/checkers/kv_model.hpp"
#include "sim/record/history.hpp"

#include <map>
#include <unordered_map>

namespace belay::sim {

struct watch_rules {
  /// How long a node may take from applying a change to responding to the waiting clients.
  virtual_time slack = std::chrono::milliseconds(100);
  /// How much too fast a node's clock may be: a wait of 10 s may end after 10 s / fastest_clock.
  double fastest_clock = 1.0;
};

/// Only for queries of keys does it check early and missed responses. For sessions it checks only
/// the index, for the catalog only that it is not 0.
///
/// An index may go back only for a prefix, when tombstones are reaped, and when an operator
/// restores a snapshot, which wakes all waiting queries. Installing a snapshot is no excuse: it
/// brings a later state of the same log, tombstones included.
class watch_checker {
public:
  /// Give the model each entry before you call applied() for it.
  explicit watch_checker(const kv_model& keys, watch_rules rules = {}) : keys_(keys), rules_(rules) {}

  /// Operations that do not block are ignored, here and in ended().
  void begun(const operation& op);
  /// The node has parked the query (its barrier is done) and must respond as soon as there is a
  /// change. Stale reads need no barrier and are parked from the start.
  void held(std::uint64_t operation_id, virtual_time now);
  broken ended(const operation& op);

  /// The node's state is now that of this log index.
  broken applied(std::size_t node, int life, log_index index, virtual_time now);
  /// Paused or crashed: it owes nothing until resumed. What waited at a crashed node must be over.
  broken node_stopped(std::size_t node, virtual_time now);
  broken node_resumed(std::size_t node, virtual_time now);
  broken finish(virtual_time now) const { return overdue(now); }

private:
  struct waiting {
    std::size_t client = 0, node = 0;
    int life = 0;
    state::query query;
    log_index known; ///< applied by the node when it received the query
    /// Applied by the node when it had found no change; a restore after that wakes the query.
    std::optional<log_index> parked_at;
    log_index min_index, last_index; ///< last_index: of the previous response; zero: none
    virtual_time wait{0};
    bool is_held = false;
    std::size_t scanned = 0; ///< changes of the model before this one were processed
    log_index news;          ///< the first change that must wake it; zero: none yet
    std::optional<virtual_time> due;
    /// Its token lost the permission: the deadline for the rejection.
    std::optional<virtual_time> refused_by;
  };
  struct node_state {
    int life = 0;
    log_index applied;
    bool stopped = false;
  };
  using question = std::tuple<std::size_t, std::size_t, int, std::string>; ///< client, node, life, query

  void look(waiting& w, const node_state& n, virtual_time now) const;
  void look_at_permission(waiting& w, const node_state& n, virtual_time now) const;
  broken overdue(virtual_time now) const;
  /// The number of the model's changes up to that entry.
  std::size_t changes_up_to(log_index i) const;
  log_index sure_index(const state::query& q, log_index s) const;

  const kv_model& keys_;
  watch_rules rules_;
  std::map<std::uint64_t, waiting> waiting_;
  std::map<std::size_t, node_state> nodes_;
  std::map<question, log_index> last_;
};

} // namespace belay::sim
