#pragma once
// Finds the end of the head of an HTTP message that arrives in pieces, with lines that end in CR LF
// or in LF alone.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

namespace belay::actors {

/// Position after the first empty line; nullopt: it has not arrived yet. An empty line at the very
/// beginning is not found.
/// @param searched number of bytes in which an earlier call found none
inline std::optional<std::size_t> end_of_head(std::string_view bytes, std::size_t searched) {
  const auto from = searched - std::min<std::size_t>(searched, 2);
  const auto lf = bytes.find("\n\n", from), cr_lf = bytes.find("\n\r\n", from);
  if (lf == std::string_view::npos && cr_lf == std::string_view::npos)
    return std::nullopt;
  return lf < cr_lf ? lf + 2 : cr_lf + 3;
}

} // namespace belay::actors
