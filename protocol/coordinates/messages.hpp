#pragma once
// What servers say to each other about coordinates, to those that have said that they understand it. Their bytes are in protocol/wire.

#include "protocol/coordinates/table.hpp"

#include <cstdint>
#include <variant>
#include <vector>

namespace belay::coordinates {

/// Answer at once: the time that takes is what is asked for.
struct probe {
  std::uint64_t sent_ns = 0; ///< of the asking server's monotonic clock; comes back as it is
};
struct probe_answer {
  std::uint64_t sent_ns = 0; ///< of the probe
  coordinate own;            ///< of who answers
};
/// Rows that the other may not know. At most news_rows_max of them.
struct news {
  std::vector<row> rows;
};
/// Of one message: about 100 KB of rows with common names.
inline constexpr std::size_t news_rows_max = 512;

using message = std::variant<probe, probe_answer, news>;

} // namespace belay::coordinates
