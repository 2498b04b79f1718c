#pragma once
// Prints text in columns.

#include <string>
#include <vector>

namespace belay::cli {

/// Rows of cells as lines. Each column is as wide as its widest cell plus `gap` blanks; nothing
/// follows the last cell.
std::string table(const std::vector<std::vector<std::string>>& rows, std::size_t gap = 2);

} // namespace belay::cli
