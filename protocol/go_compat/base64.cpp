#include "protocol/go_compat/base64.hpp"

#include <array>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace belay::go_compat {

namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint32_t no_digit = 1u << 31;

/// For each position in a group of four digits: the digit's value shifted in the 24 bits, or
/// no_digit.
constexpr auto values = [] {
  std::array<std::array<std::uint32_t, 256>, 4> v{};
  for (std::size_t digit = 0; digit < 4; ++digit) {
    v[digit].fill(no_digit);
    for (std::size_t i = 0; i < alphabet.size(); ++i)
      v[digit][static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint32_t>(i << (18 - 6 * digit));
  }
  return v;
}();

/// Both digits of 12 bits.
constexpr auto pairs = [] {
  std::array<std::array<char, 2>, 4096> p{};
  for (std::size_t i = 0; i < p.size(); ++i)
    p[i] = {alphabet[i >> 6], alphabet[i & 63]};
  return p;
}();

std::uint32_t value_at(std::size_t digit, char c) {
  return values[digit][static_cast<unsigned char>(c)];
}

/// Decodes groups of four digits up to the first invalid one. @returns bytes of text used
std::size_t decode_groups(std::string_view text, std::string& out) {
  const auto begin = out.size();
  out.resize(begin + text.size() / 4 * 3);
  char* to = out.data() + begin;
  std::size_t i = 0;
  for (; i + 4 <= text.size(); i += 4, to += 3) {
    const auto three =
        value_at(0, text[i]) | value_at(1, text[i + 1]) | value_at(2, text[i + 2]) | value_at(3, text[i + 3]);
    if ((three & no_digit) != 0)
      break;
    to[0] = static_cast<char>(three >> 16);
    to[1] = static_cast<char>(three >> 8);
    to[2] = static_cast<char>(three);
  }
  out.resize(begin + i / 4 * 3);
  return i;
}

#if defined(__x86_64__)
/// Mula, Lemire, "Faster Base64 Encoding and Decoding using AVX2 Instructions", ACM TWEB 2018,
/// section 3: 24 bytes to 32 digits in about ten instructions. @returns bytes used (n * 24).
__attribute__((target("avx2"))) std::size_t encode_avx2(std::string_view bytes, char* to) {
  // In each 128 bits: bytes 0 1 2 become 1 0 2 1, so that a digit's six bits are in a 16-bit word.
  const auto spread = _mm256_broadcastsi128_si256(_mm_setr_epi8(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10));
  // The offset from a six-bit value to its digit. Index 0: a-z, 1 to 10: 0-9, 11: +, 12: /, 13:
  // A-Z.
  const auto offsets =
      _mm256_broadcastsi128_si256(_mm_setr_epi8('a' - 26, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52,
                                                '0' - 52, '0' - 52, '0' - 52, '0' - 52, '+' - 62, '/' - 63, 'A', 0, 0));
  std::size_t i = 0;
  for (; i + 28 <= bytes.size(); i += 24, to += 32) { // the second half is loaded as 16 bytes, four of them unused
    const auto* from = reinterpret_cast<const __m128i*>(bytes.data() + i);
    const auto* half = reinterpret_cast<const __m128i*>(bytes.data() + i + 12);
    const auto in = _mm256_shuffle_epi8(_mm256_set_m128i(_mm_loadu_si128(half), _mm_loadu_si128(from)), spread);
    const auto odd =
        _mm256_mulhi_epu16(_mm256_and_si256(in, _mm256_set1_epi32(0x0FC0FC00)), _mm256_set1_epi32(0x04000040));
    const auto even =
        _mm256_mullo_epi16(_mm256_and_si256(in, _mm256_set1_epi32(0x003F03F0)), _mm256_set1_epi32(0x01000010));
    const auto six = _mm256_or_si256(odd, even);
    const auto below_26 = _mm256_cmpgt_epi8(_mm256_set1_epi8(26), six);
    const auto which =
        _mm256_or_si256(_mm256_subs_epu8(six, _mm256_set1_epi8(51)), _mm256_and_si256(below_26, _mm256_set1_epi8(13)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_add_epi8(six, _mm256_shuffle_epi8(offsets, which)));
  }
  return i;
}
#endif

void encode_portable(std::string_view bytes, char* to) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])); };
  const auto put = [&to](std::uint32_t twelve_bits) {
    *to++ = pairs[twelve_bits][0];
    *to++ = pairs[twelve_bits][1];
  };
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) {
    const auto three = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    put(three >> 12);
    put(three & 4095);
  }
  if (const auto left = bytes.size() - i; left != 0) {
    const auto three = byte(i) << 16 | (left == 2 ? byte(i + 1) << 8 : 0);
    put(three >> 12);
    put(three & 4095);
    to[-1] = '=';
    if (left == 1)
      to[-2] = '=';
  }
}

failure illegal(std::size_t at) {
  return {"illegal base64 data at input byte " + std::to_string(at)};
}

bool is_line_break(char c) {
  return c == '\n' || c == '\r';
}

} // namespace

result<std::string> decode_base64(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int digits = 0, padding = 0;
  for (auto i = decode_groups(text, out); i < text.size(); ++i) {
    if (is_line_break(text[i]))
      continue;
    if (text[i] == '=' && (digits == 3 || (digits == 2 && padding < 2))) {
      ++padding;
      if (digits + padding < 4)
        continue;
      // Nothing may follow the padding.
      for (auto rest = i + 1; rest < text.size(); ++rest)
        if (!is_line_break(text[rest]))
          return illegal(rest);
      out += static_cast<char>(digits == 3 ? bits >> 10 : bits >> 4);
      if (digits == 3)
        out += static_cast<char>(bits >> 2);
      return out;
    }
    const auto value = value_at(3, text[i]);
    if (value == no_digit || padding != 0)
      return illegal(i);
    bits = bits << 6 | value;
    if (++digits < 4)
      continue;
    out += static_cast<char>(bits >> 16);
    out += static_cast<char>(bits >> 8);
    out += static_cast<char>(bits);
    bits = 0;
    digits = 0;
  }
  if (digits != 0)
    return illegal(text.size());
  return out;
}

void append_base64(std::string& out, std::string_view bytes) {
  const auto begin = out.size();
  out.resize(begin + (bytes.size() + 2) / 3 * 4);
  char* to = out.data() + begin;
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) {
    const auto used = encode_avx2(bytes, to);
    bytes.remove_prefix(used);
    to += used / 3 * 4;
  }
#endif
  encode_portable(bytes, to);
}

} // namespace belay::go_compat
