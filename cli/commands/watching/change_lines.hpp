#pragma once
// Renders changes as lines of JSON.

#include "cli/names.hpp"

#include <belay/changes.hpp>

#include <string>

namespace belay::cli {

/// A change as a server writes it in a list (docs/reference/changes.md), with a line break. A key
/// of a snapshot has no `ID`.
std::string line_of(const v0::key_change& c);
/// A line that makes earlier state void, before the keys as they are now.
/// @param event `gap` or `snapshot`
/// @param cursor the cursor before the gap, or of the snapshot
std::string line_of_void(const std::string& event, const std::string& cursor);

} // namespace belay::cli
