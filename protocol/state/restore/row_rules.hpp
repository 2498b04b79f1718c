#pragma once
// What a row of an archive must be like before it may come into the log. An archive is a client's input: a row that no request could have
// made would get around everything that requests are checked for.

#include "protocol/state/rows.hpp"

#include <optional>
#include <string>
#include <unordered_set>

namespace belay::state {

/// Of keys' values: bytes. A larger one in an entry of the log would hold up heartbeats on its way to followers.
inline constexpr std::size_t value_bytes_max = std::size_t{16} << 20;
/// Of a row as it is stored, with key and fields: bytes. Keys come in the head of a request, which is smaller than 1 MiB.
inline constexpr std::size_t row_bytes_max = value_bytes_max + (std::size_t{1} << 20);

/// What is wrong with a row that was decoded; nullopt: a request could have made it. Not wrong, because requests do make them:
/// - nodes without address (docs/contract/07: `SkipNodeUpdate` and transactions ask for none);
/// - settings of autopilot with durations below zero (docs/contract/12: the record is taken as it is).
/// Rows that refer to others that are not there are not wrong either: a restore leaves them out. Checks of a service go by
/// known_services; services, checks and locks without their node or session are seen to by restored().
std::optional<std::string> complaint_of(const dirty_row& row);

/// Which checks belong to a service of the same archive. Requests make no others ("Missing service registration"). It is asked before
/// rows become entries of the log, so that servers of all versions put the same rows in force.
class known_services {
public:
  /// Call it for each row, in the order of the archive, where services come before checks.
  /// @returns false: it is a check of a service that is not there, which is to be left out
  bool admits(const dirty_row& row);

private:
  std::unordered_set<std::string> keys_; ///< row_key() of node and service id
};

} // namespace belay::state
