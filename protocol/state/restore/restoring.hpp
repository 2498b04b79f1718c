#pragma once
// Builds tables from the rows of an archive, and keeps what must hold although old state returns.

#include "protocol/state/restore/keys_ahead.hpp"
#include "protocol/state/tables.hpp"

#include <memory>
#include <optional>

namespace belay::state {

/// Tables with the rows that `old` has staged, committed by the entry `index`.
///
/// - Rows keep their indexes, lowered to `index` if they are larger (archives of another cluster).
/// - Fencing tokens never decrease: an archived holder gets a new grant, unless it is its newest.
/// - Lock delays continue, current and archived ones. A current holder that is
/// not in the archive has lost its lock, and its session's lock delay starts.
/// - Policies, roles and tokens are the archive's. Expired tokens are left out. None lives longer
///   from now than its whole lifetime, since its expiry may be by the clock of another cluster.
/// - Dangling rows (only in forged archives) are left out.
/// @param ahead the work done in advance; nullopt: none
/// @param changed gets everything_changed, and all sessions as created.
std::unique_ptr<tables> restored(const tables& old, std::optional<restored_rows> ahead, log_index index,
                                 cluster_time now, effects& changed);

} // namespace belay::state
