#pragma once
// The wait-for graph (docs/reference/claims.md, rules 31, 32). Its edges lead from a waiting
// session to the conflicting holders of what it waits for, and to all sessions before it in the
// queue. Waits for keys' locks count.

#include "protocol/state/tables.hpp"

#include <cstddef>
#include <optional>

namespace belay::state {

struct wait_cycle {
  std::vector<wait_edge> edges; ///< empty: none was found
  bool cut = false;             ///< the search stopped at graph_nodes_max or cycle_search::claims_max
};

/// Finds a shortest cycle through the session. Visits sessions in the order in which
/// they are found, claims of a session in key order, holders before the queue.
struct cycle_search {
  std::string_view session;
  /// Key of a claim to treat as granted, although it waits in the table.
  std::string_view granted = {};
  /// Only cycles with a `deadlock=refuse` claim; starts_refusing: the granted claim is one.
  bool refusers_only = false, starts_refusing = false;
  /// Max claims to examine. The claims of each visited session count, and the holders and waiters
  /// in their way, every time. nullopt: only graph_nodes_max limits the search.
  std::optional<std::size_t> claims_max = std::nullopt;
};
/// search_claims_max from client_address_level on; entries below it were decided without a bound.
std::optional<std::size_t> bound_of_search(const applying& a);
wait_cycle find_cycle(const tables& t, const cycle_search& wanted);

/// All waits: the first few holders in the way, and the preceding waiter (implies all before).
wait_graph waits_of(const tables& t);

} // namespace belay::state
