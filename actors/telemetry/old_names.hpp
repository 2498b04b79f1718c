#pragma once
// Warnings for requests and configurations that have old names (protocol/base/renamed_names.hpp).

#include "protocol/base/renamed_names.hpp"

namespace belay::actors {

/// Logs that a request or the configuration uses an old name: once for each name in this process.
/// Thread-safe. @param row of the table
void warn_of_old_name(const renamed_name& row);

} // namespace belay::actors
