#pragma once
// Small files of lines in the data directory that end with a checksum.

#include "protocol/base/bytes.hpp"
#include "protocol/base/hex.hpp"

#include <string>
#include <string_view>

namespace belay::actors {

inline constexpr std::string_view checksum_line = "checksum ";

/// `lines`, each with its end, and the line of their CRC32C.
inline std::string sealed(const std::string& lines) {
  std::string checksum;
  append_hex(checksum, crc32c(lines), 8);
  return lines + std::string(checksum_line) + checksum + "\n";
}

} // namespace belay::actors
