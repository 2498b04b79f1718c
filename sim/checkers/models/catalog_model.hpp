#pragma once
// The nodes, services and checks that clients write by transactions, by rules of its own (docs/contract/05 and 07): nothing here is
// shared with protocol/state but the records.

#include "protocol/state/commands.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace belay::sim {

/// So the names of nodes begin that only transactions of clients write.
inline constexpr std::string_view catalog_of_transactions = "txn-";

/// Of nodes that nothing but transactions writes, and on which no session hangs: their names tell them.
class catalog_model {
public:
  /// What one operation does in the middle of a transaction.
  struct step {
    std::string why;                        ///< of a failed one
    std::optional<state::txn_result> shown; ///< nullopt: nothing
  };

  /// Of such a node, and with all arguments that it needs.
  static bool is_modelled(const state::txn_op& op);
  /// False from forget() on.
  bool known() const { return !forgotten_; }

  /// @pre known(), is_modelled(op)
  step run(const state::txn_op& op, log_index at);
  /// All that run() did since the last keep().
  void undo() { now_ = kept_; }
  void keep(log_index at);
  /// What there is cannot be said any more.
  void forget() { forgotten_ = true; }
  /// All is as it was at `archive` again.
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
