#include "protocol/base/bytes.hpp"

#include <array>
#include <cstring>

namespace belay {

namespace {

constexpr std::uint32_t castagnoli_reflected = 0x82F63B78; // RFC 3720, appendix B.4

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit)
      c = (c & 1) != 0 ? (c >> 1) ^ castagnoli_reflected : c >> 1;
    table[i] = c;
  }
  return table;
}

constexpr auto table = make_table();

std::uint32_t crc_portable(std::string_view bytes, std::uint32_t crc) {
  for (unsigned char b : bytes)
    crc = (crc >> 8) ^ table[(crc ^ b) & 0xFF];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc_sse42(std::string_view bytes, std::uint32_t crc) {
  const char* p = bytes.data();
  std::size_t n = bytes.size();
  std::uint64_t wide = crc;
  for (; n >= 8; p += 8, n -= 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  auto c = static_cast<std::uint32_t>(wide);
  for (; n != 0; ++p, --n)
    c = __builtin_ia32_crc32qi(c, static_cast<unsigned char>(*p));
  return c;
}
#endif

} // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t seed) {
#if defined(__x86_64__)
  static const bool has_sse42 = __builtin_cpu_supports("sse4.2") != 0;
  if (has_sse42)
    return ~crc_sse42(bytes, ~seed);
#endif
  return ~crc_portable(bytes, ~seed);
}

void byte_writer::varint(std::uint64_t v) {
  while (v >= 0x80) {
    u8(static_cast<std::uint8_t>(v | 0x80));
    v >>= 7;
  }
  u8(static_cast<std::uint8_t>(v));
}

void byte_writer::text(std::string_view v) {
  varint(v.size());
  raw(v);
}

std::uint64_t byte_reader::varint() {
  std::uint64_t v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto b = u8();
    if (!ok_)
      return 0;
    if (shift == 63 && b > 1)
      break;
    v |= static_cast<std::uint64_t>(b & 0x7F) << shift;
    if ((b & 0x80) == 0)
      return v;
  }
  ok_ = false;
  return 0;
}

bool byte_reader::boolean() {
  const auto b = u8();
  if (b > 1)
    ok_ = false;
  return ok_ && b == 1;
}

std::string_view byte_reader::text() {
  const auto n = varint();
  if (!ok_ || n > remaining()) {
    ok_ = false;
    return {};
  }
  return raw(static_cast<std::size_t>(n));
}

std::string_view byte_reader::raw(std::size_t n) {
  if (!ok_ || n > remaining()) {
    ok_ = false;
    return {};
  }
  auto v = in_.substr(pos_, n);
  pos_ += n;
  return v;
}

} // namespace belay
