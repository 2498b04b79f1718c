#pragma once
// Who waits for whom (docs/claims.md, rules 31 and 32): from a session that waits to the sessions that hold what it waits for, in a way that
// conflicts, and to all before it in the queue. Waits for locks of keys count like claims.

#include "protocol/state/tables.hpp"

#include <cstddef>
#include <optional>

namespace belay::state {

struct wait_cycle {
  std::vector<wait_edge> edges; ///< empty: none was found
  bool cut = false;             ///< the search met graph_nodes_max or cycle_search::claims_max, and stopped
};

/// A shortest cycle through the session. Sessions are looked at in the order in which they are found, claims of a session in the order of
/// their keys, holders before the queue.
struct cycle_search {
  std::string_view session;
  /// Key of a claim that does not wait, although the table says so.
  std::string_view granted = {};
  /// Only cycles in which somebody said `deadlock=refuse`; true at first if the claim that is granted did.
  bool refusers_only = false, starts_refusing = false;
  /// Claims that the search may examine: those of a session that it visits, the holders and the waiters in their way. A claim counts each
  /// time. nullopt: no bound but graph_nodes_max.
  std::optional<std::size_t> claims_max = std::nullopt;
};
/// search_claims_max from client_address_level on; entries below it were decided without that bound.
std::optional<std::size_t> bound_of_search(const applying& a);
wait_cycle find_cycle(const tables& t, const cycle_search& wanted);

/// Every wait: the first few holders that stand in its way, and the one before it in the queue. (All before those follow from them.)
wait_graph waits_of(const tables& t);

} // namespace belay::state
