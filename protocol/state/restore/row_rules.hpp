#pragma once
// Validates rows of an archive before they are proposed. An archive is a client's
// input: a row that no request could create would bypass all checks of requests.

#include "protocol/state/rows.hpp"

#include <optional>
#include <string>
#include <unordered_set>

namespace belay::state {

/// Limit of values, in bytes. A larger one would delay heartbeats on its way to followers.
inline constexpr std::size_t value_bytes_max = std::size_t{16} << 20;
/// Limit of stored rows, in bytes. Keys come in a request's head, which is smaller than 1 MiB.
inline constexpr std::size_t row_bytes_max = value_bytes_max + (std::size_t{1} << 20);

/// What is wrong with a decoded row; nullopt: a request could have created it. Requests create:
/// - nodes without address (docs/contract/07: `SkipNodeUpdate` and transactions do not require it);
/// - settings of autopilot with negative durations (docs/contract/12: the record is not validated).
/// Dangling rows are not an error either: a restore leaves them out. known_services handles checks
/// of a service; restored() handles services, checks and locks without their node or session.
std::optional<std::string> complaint_of(const dirty_row& row);

/// Which checks belong to a service of the same archive. Requests create no others ("Missing
/// service registration"). Applied before rows are proposed, so all versions restore the same rows.
class known_services {
public:
  /// Call it for each row in the archive's order, where services precede checks.
  /// @returns false: a check whose service is missing; leave it out
  bool admits(const dirty_row& row);

private:
  std::unordered_set<std::string> keys_; ///< row_key() of node and service id
};

} // namespace belay::state
