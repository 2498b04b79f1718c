#pragma once
// The nodes, services and checks that clients write in transactions, by independent rules
// (docs/contract/05 and 07). It shares only the records with protocol/state.

#include "protocol/state/commands.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace belay::sim {

/// The prefix of the names of nodes that only transactions of clients write.
inline constexpr std::string_view catalog_of_transactions = "txn-";

/// Models the nodes that only transactions write and no session depends on, as their names show.
class catalog_model {
public:
  /// The effect of one operation within a transaction.
  struct step {
    std::string why;                        ///< reason of a failed operation
    std::optional<state::txn_result> shown; ///< nullopt: nothing
  };

  /// Whether it is about such a node and has all arguments that it needs.
  static bool is_modelled(const state::txn_op& op);
  /// False after forget().
  bool known() const { return !forgotten_; }

  /// @pre known(), is_modelled(op)
  step run(const state::txn_op& op, log_index at);
  /// Undoes all that run() did since the last keep().
  void undo() { now_ = kept_; }
  void keep(log_index at);
  /// The contents are unknown from now on.
  void forget() { forgotten_ = true; }
  /// Restores the state at `archive`.
  void go_back(log_index archive, log_index at);

private:
  using row_name = std::pair<std::string, std::string>; ///< node and id
  struct rows {
    std::map<std::string, state::node_ptr> nodes;
    std::map<row_name, state::service_ptr> services;
    std::map<row_name, state::check_ptr> checks;
  };

  step run_op(const state::node_op& op, log_index at);
  step run_op(const state::service_op& op, log_index at);
  step run_op(const state::check_op& op, log_index at);
  static step run_op(const state::kv_op&, log_index) { return {}; }
  static step run_op(const state::fence_op&, log_index) { return {}; }
  void take_away(const state::node_record& n);
  void take_away(const state::service_record& s);
  void take_away(const state::check_record& c) { now_.checks.erase({c.node, c.check_id}); }

  rows now_, kept_;
  std::map<log_index, rows> since_; ///< as of each change
  bool forgotten_ = false;
};

} // namespace belay::sim
