#pragma once
// Messages about coordinates, to servers that announced support. protocol/wire encodes them.

#include "protocol/coordinates/table.hpp"

#include <cstdint>
#include <variant>
#include <vector>

namespace belay::coordinates {

/// Requests an immediate reply, to measure the round-trip time.
struct probe {
  std::uint64_t sent_ns = 0; ///< the requester's monotonic clock; returned unchanged
};
struct probe_answer {
  std::uint64_t sent_ns = 0; ///< time at which the probe was sent
  coordinate own;            ///< coordinate of the server that replies
};
/// Up to news_rows_max rows that the receiver may lack.
struct news {
  std::vector<row> rows;
};
/// Limit per message: about 100 KB of rows with typical names.
inline constexpr std::size_t news_rows_max = 512;

using message = std::variant<probe, probe_answer, news>;

} // namespace belay::coordinates
