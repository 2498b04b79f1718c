#pragma once
// `?near`: sorts lists of nodes, instances and checks by distance from a node (docs/contract/17).

#include "protocol/coordinates/table.hpp"
#include "protocol/state/queries.hpp"

namespace belay::state {

/// Nearest first, stable; entries without a coordinate keep their order at the end.
/// Does nothing if `from` has no coordinate or the result is not one of these lists.
/// @param known null: there are no coordinates
void sort_by_nearness(query_result& answer, const coordinates::table* known, std::string_view from);

} // namespace belay::state
