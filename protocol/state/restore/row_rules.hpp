#pragma once
// What a row of an archive must be like before it may come into the log. An archive is a client's input: a row that no request could have
// made would get around everything that requests are checked for.

#include "protocol/state/rows.hpp"

#include <optional>
#include <string>

namespace belay::state {

/// Of keys' values: bytes. A larger one in an entry of the log would hold up heartbeats on its way to followers.
inline constexpr std::size_t value_bytes_max = std::size_t{16} << 20;
/// Of a row as it is stored, with key and fields: bytes. Keys come in the head of a request, which is smaller than 1 MiB.
inline constexpr std::size_t row_bytes_max = value_bytes_max + (std::size_t{1} << 20);

/// What is wrong with a row that was decoded; nullopt: a request could have made it. Rows that refer to others that are not there are
/// not wrong: a restore leaves them out.
std::optional<std::string> complaint_of(const dirty_row& row);

} // namespace belay::state
