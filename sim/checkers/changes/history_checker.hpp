#pragma once
// Checks how servers name the history of their cursors (docs/reference/changes.md, Cursors). All servers name
// it alike after the same newest restore, and differently after another; they name none while a
// member does not support names.

#include "sim/checkers/kv_model.hpp"
#include "sim/environment/cluster.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace belay::sim {

class history_checker {
public:
  /// @param clocks_leap clocks of nodes may jump ahead by any amount
  history_checker(const cluster& nodes, const kv_model& keys, bool clocks_leap)
      : nodes_(nodes), keys_(keys), clocks_leap_(clocks_leap) {}

  /// A client has received a cursor from that node.
  /// @param name empty: it names no history
  broken named(std::size_t node, log_index index, std::string_view name, virtual_time now);

private:
  /// Whether there is a member without feature levels, which no server can consider to be lost.
  bool has_older_member(std::size_t node, virtual_time now);

  const cluster& nodes_;
  const kv_model& keys_;
  bool clocks_leap_;
  std::map<log_index, std::string> names_; ///< by the newest restore
  std::map<std::size_t, virtual_time> older_member_since_;
};

} // namespace belay::sim
