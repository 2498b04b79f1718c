#pragma once
// Changes as lines of JSON.

#include "cli/names.hpp"

#include <belay/changes.hpp>

#include <string>

namespace belay::cli {

/// As a server writes it in a list (docs/reference/changes.md), and a line break. A key of a snapshot has no
/// `ID`.
std::string line_of(const v0::key_change& c);
/// That what is known is void, and the keys as they are follow.
/// @param event `gap` or `snapshot` @param place of what was told before, or of the snapshot
std::string line_of_void(const std::string& event, const std::string& place);

} // namespace belay::cli
