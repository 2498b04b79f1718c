#pragma once
// Judges blocking queries: no index goes back, no query is answered before its time without news, and no news is missed
// (docs/pitfalls.md C5, C6; docs/contract/02, section 4).

#include "sim/checkers/kv_model.hpp"
#include "sim/record/history.hpp"

#include <map>
#include <unordered_map>

namespace belay::sim {

struct watch_rules {
  /// How long a node may take from applying a change to having answered who waits for it.
  virtual_time slack = std::chrono::milliseconds(100);
  /// How much faster than virtual time a node's clock may run: a wait of 10 s may then end after 10 s / fastest_clock.
  double fastest_clock = 1.0;
};

/// Only queries of keys can be missed or early without reason here; of sessions only the index is judged, of the
/// catalog only that it is not 0.
///
/// An index may go back only for a prefix, when tombstones were reaped, and when a snapshot of an operator was restored;
/// that answers all who wait. The installation of a snapshot is no excuse:
/// it brings a later state of the same log, and tombstones are in it.
class watch_checker {
public:
  /// The model has to be given each entry before applied() tells of it.
  explicit watch_checker(const kv_model& keys, watch_rules rules = {}) : keys_(keys), rules_(rules) {}

  /// Operations that do not block are ignored, here and in ended().
  void begun(const operation& op);
  /// The node holds the query from now on (its barrier is behind it): it must answer as soon as there is news. Stale
  /// reads need no barrier and are held from the start.
  void held(std::uint64_t operation_id, virtual_time now);
  broken ended(const operation& op);

  /// The node's state is now that of this log index.
  broken applied(std::size_t node, int life, log_index index, virtual_time now);
  /// Paused or crashed: owes nothing until it is resumed. What waited at a crashed node has to have ended by then.
  broken node_stopped(std::size_t node, virtual_time now);
  broken node_resumed(std::size_t node, virtual_time now);
  broken finish(virtual_time now) const { return overdue(now); }

private:
  struct waiting {
    std::size_t client = 0, node = 0;
    int life = 0;
    state::query query;
    log_index known; ///< applied by the node when it was asked
    /// Applied by the node when it had made sure that there was no news; a restore after that answers the query.
    std::optional<log_index> parked_at;
    log_index min_index, last_index; ///< last_index: of the answer before; zero: none
    virtual_time wait{0};
    bool is_held = false;
    std::size_t scanned = 0; ///< changes of the model before this one were looked at
    log_index news;          ///< the first change that must wake it; zero: none yet
    std::optional<virtual_time> due;
    /// In whose name it is asked may not ask it any more: to be told so by then.
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
  /// How many of the model's changes there are up to that entry.
  std::size_t changes_up_to(log_index i) const;
  log_index sure_index(const state::query& q, log_index s) const;

  const kv_model& keys_;
  watch_rules rules_;
  std::map<std::uint64_t, waiting> waiting_;
  std::map<std::size_t, node_state> nodes_;
  std::map<question, log_index> last_;
};

} // namespace belay::sim
