#pragma once
// How servers name the history of their cursors (docs/changes.md, Cursors): all servers the same
// for the same newest restore, another one for each; and to no client as long as a member cannot
// read that.

#include "sim/checkers/kv_model.hpp"
#include "sim/world/cluster.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace belay::sim {

class history_checker {
public:
  /// @param clocks_leap clocks of nodes may go ahead by any time at once
  history_checker(const cluster& nodes, const kv_model& keys, bool clocks_leap)
      : nodes_(nodes), keys_(keys), clocks_leap_(clocks_leap) {}

  /// A client has got a cursor from that node. @param name empty: it names no history
  broken named(std::size_t node, log_index index, std::string_view name, virtual_time now);

private:
  /// Nobody could take the member of before feature levels for one that is lost.
  bool knows_older_member(std::size_t node, virtual_time now);

  const cluster& nodes_;
  const kv_model& keys_;
  bool clocks_leap_;
  std::map<log_index, std::string> names_; ///< by the newest restore
  std::map<std::size_t, virtual_time> older_member_since_;
};

} // namespace belay::sim
