#pragma once
// Values that the load generator writes, and checks byte by byte when read; base64 for them.

#include "bench/load/event_loop.hpp"

#include <charconv>

struct random_numbers {
  u64 s;
  explicit random_numbers(u64 seed) : s(seed * 0x9E3779B97F4A7C15ull + 0x1234567) {}
  u64 operator()() {
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return s;
  }
  u64 below(u64 n) { return (*this)() % n; }
};

/// Values of one size, at least 16 bytes:
///
///   | bytes | what                                       |
///   |-------|--------------------------------------------|
///   | 0-7   | number of the key, hexadecimal             |
///   | 8-15  | version, hexadecimal (its lowest 32 bits)  |
///   | 16-   | a filler that depends on the key           |
class known_values {
public:
  explicit known_values(size_t size) : size_(size) {
    if (size < head_bytes)
      die("a value has at least 16 bytes");
  }
  std::string make(u32 key, u64 version) const {
    std::string v(size_, 'x');
    char h[head_bytes + 1];
    snprintf(h, sizeof h, "%08x%08x", key, u32(version));
    memcpy(v.data(), h, head_bytes);
    random_numbers r(key + 1);
    for (size_t i = head_bytes; i + 8 <= size_; i += 8) {
      u64 w = word(r);
      memcpy(v.data() + i, &w, 8);
    }
    return v;
  }
  /// Whether `v` is, to the byte, a value that make() returned for this key.
  bool check(u32 key, std::string_view v) const {
    u32 named = 0, version = 0;
    if (v.size() != size_ || !hex(v.substr(0, 8), named) || named != key || !hex(v.substr(8, 8), version))
      return false;
    random_numbers r(key + 1);
    size_t i = head_bytes;
    for (; i + 8 <= size_; i += 8) {
      u64 w = word(r);
      if (memcmp(v.data() + i, &w, 8) != 0)
        return false;
    }
    for (; i < size_; i++)
      if (v[i] != 'x')
        return false;
    return true;
  }
  /// @pre check() returned true
  static u32 version(std::string_view v) {
    u32 n = 0;
    hex(v.substr(8, 8), n);
    return n;
  }

private:
  static constexpr size_t head_bytes = 16;
  static u64 word(random_numbers& r) { return (r() & 0x0f0f0f0f0f0f0f0full) | 0x6060606060606060ull; }
  static bool hex(std::string_view digits, u32& out) {
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out, 16);
    return error == std::errc{} && end == digits.data() + digits.size();
  }
  size_t size_;
};

inline std::string b64(std::string_view s) {
  static const char* t = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string o;
  o.reserve((s.size() + 2) / 3 * 4);
  for (size_t i = 0; i < s.size(); i += 3) {
    u32 v = u32(uint8_t(s[i])) << 16;
    if (i + 1 < s.size())
      v |= u32(uint8_t(s[i + 1])) << 8;
    if (i + 2 < s.size())
      v |= uint8_t(s[i + 2]);
    o += t[v >> 18];
    o += t[(v >> 12) & 63];
    o += i + 1 < s.size() ? t[(v >> 6) & 63] : '=';
    o += i + 2 < s.size() ? t[v & 63] : '=';
  }
  return o;
}

inline bool unb64(std::string_view s, std::string& o) {
  static const auto tab = [] {
    std::vector<int8_t> t(256, -1);
    const char* a = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int i = 0; i < 64; i++)
      t[uint8_t(a[i])] = int8_t(i);
    return t;
  }();
  o.clear();
  if (s.size() % 4)
    return false;
  while (!s.empty() && s.back() == '=')
    s.remove_suffix(1);
  o.resize(s.size() * 3 / 4);
  u32 acc = 0;
  int bits = 0, bad = 0;
  size_t j = 0;
  for (char c : s) {
    int v = tab[uint8_t(c)];
    bad |= v;
    acc = (acc << 6) | u32(v & 63);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      o[j++] = char(acc >> bits);
    }
  }
  return bad >= 0;
}
