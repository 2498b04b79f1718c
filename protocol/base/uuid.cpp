#include "protocol/base/uuid.hpp"

#include "protocol/base/hex.hpp"

namespace belay {

bool is_uuid(std::string_view text) {
  if (text.size() != uuid_characters)
    return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : hex_value(text[i]) < 0)
      return false;
  }
  return true;
}

std::string uuid_of(std::uint64_t high, std::uint64_t low) {
  high = (high & ~0xF000ULL) | 0x4000ULL;     // version 4
  low = (low & ~(3ULL << 62)) | (2ULL << 62); // the variant of RFC 9562
  std::string out;
  out.reserve(uuid_characters);
  append_hex(out, high >> 32, 8);
  out += '-';
  append_hex(out, high >> 16, 4);
  out += '-';
  append_hex(out, high, 4);
  out += '-';
  append_hex(out, low >> 48, 4);
  out += '-';
  append_hex(out, low, 12);
  return out;
}

} // namespace belay
