#pragma once
// `?near`: lists of nodes, instances and checks by their distance from a node (docs/contract/17).

#include "protocol/coordinates/table.hpp"
#include "protocol/state/queries.hpp"

namespace belay::state {

/// The nearest first. What is equally far keeps its order, and so does, at the end, what has no coordinate. Nothing is moved if it is not
/// known where `from` is, or if the answer is no list of these.
/// @param known null: no coordinates
void sort_by_nearness(query_result& answer, const coordinates::table* known, std::string_view from);

} // namespace belay::state
