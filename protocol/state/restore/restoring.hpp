#pragma once
// From the rows of an archive to tables: what has to be true although the past comes back.

#include "protocol/state/restore/keys_ahead.hpp"
#include "protocol/state/tables.hpp"

#include <memory>
#include <optional>

namespace belay::state {

/// Tables with the rows that `old` has staged, put in force by the entry `index`.
///
/// - Rows keep their indexes, but none is above `index`: those of an archive of another cluster are lowered to it.
/// - A lock's fence never goes back: who holds it by the archive has a new grant, unless it is his newest one anyway.
/// - Lock delays go on, those of now and those of the archive; who holds a lock now and not in the archive has lost it,
///   and the delay of his session begins.
/// - Policies, roles and tokens are those of the archive. Tokens that are over are left out; none lives longer from now on than it was
///   to live in all, since its end may be by the clock of another cluster.
/// - Rows that refer to nothing (only in archives that were tampered with) are left out.
/// @param ahead what was done before; nullopt: nothing
/// @param changed gets everything_changed and all sessions as created.
std::unique_ptr<tables> restored(const tables& old, std::optional<restored_rows> ahead, log_index index,
                                 cluster_time now, effects& changed);

} // namespace belay::state
