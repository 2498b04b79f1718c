#pragma once
// Splits inputs of "u16 length | bytes". Any bytes are such an input: the last may be cut short.

#include "protocol/base/bytes.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace belay::fuzz {

struct piece {
  std::string_view bytes;
  bool marked = false; ///< the highest bit of the length was set
};

inline std::vector<piece> pieces_of(std::string_view input) {
  std::vector<piece> pieces;
  while (input.size() >= 2) {
    const auto length = byte_reader(input).u16();
    input.remove_prefix(2);
    const auto n = std::min<std::size_t>(length & 0x7FFF, input.size());
    pieces.push_back({input.substr(0, n), (length & 0x8000) != 0});
    input.remove_prefix(n);
  }
  return pieces;
}

} // namespace belay::fuzz
