#include "protocol/http/network.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace belay::http {

namespace {

std::optional<unsigned> parse_number(std::string_view text, int base, unsigned largest) {
  unsigned value = 0;
  const auto* end = text.data() + text.size();
  const auto r = std::from_chars(text.data(), end, value, base);
  if (text.empty() || r.ec != std::errc{} || r.ptr != end || value > largest)
    return std::nullopt;
  return value;
}

/// Writes 4 bytes.
bool parse_ipv4(std::string_view text, unsigned char* out) {
  for (int i = 0; i < 4; ++i) {
    const auto end = i == 3 ? text.size() : text.find('.');
    if (end == std::string_view::npos || end > 3)
      return false;
    const auto value = parse_number(text.substr(0, end), 10, 255);
    if (!value)
      return false;
    out[i] = static_cast<unsigned char>(*value);
    text.remove_prefix(i == 3 ? end : end + 1);
  }
  return text.empty();
}

/// Groups between colons, the last perhaps an IPv4 address. @returns bytes written, at most 16, or nullopt.
std::optional<std::size_t> parse_groups(std::string_view text, unsigned char* out) {
  std::size_t n = 0;
  while (!text.empty()) {
    const auto end = std::min(text.find(':'), text.size());
    const auto group = text.substr(0, end);
    const bool last = end == text.size();
    if (last && group.find('.') != std::string_view::npos) {
      if (n > 12 || !parse_ipv4(group, out + n))
        return std::nullopt;
      return n + 4;
    }
    const auto value = group.size() <= 4 ? parse_number(group, 16, 0xFFFF) : std::nullopt;
    if (!value || n > 14)
      return std::nullopt;
    out[n++] = static_cast<unsigned char>(*value >> 8);
    out[n++] = static_cast<unsigned char>(*value & 0xFF);
    text.remove_prefix(last ? end : end + 1);
    if (!last && text.empty())
      return std::nullopt;
  }
  return n;
}

} // namespace

std::optional<ip_address> parse_ip(std::string_view text) {
  ip_address ip{};
  if (text.find(':') == std::string_view::npos) {
    ip[10] = ip[11] = 0xFF;
    if (!parse_ipv4(text, ip.data() + 12))
      return std::nullopt;
    return ip;
  }
  const auto gap = text.find("::");
  if (gap == std::string_view::npos) {
    if (parse_groups(text, ip.data()) != 16u)
      return std::nullopt;
    return ip;
  }
  ip_address behind{};
  const auto head = parse_groups(text.substr(0, gap), ip.data());
  const auto tail = parse_groups(text.substr(gap + 2), behind.data());
  if (!head || !tail || *head + *tail > 14)
    return std::nullopt;
  std::copy_n(behind.begin(), *tail, ip.end() - static_cast<std::ptrdiff_t>(*tail));
  return ip;
}

bool network_contains(std::string_view cidr, std::string_view address) {
  const auto slash = cidr.find('/');
  const auto network = parse_ip(cidr.substr(0, slash)), ip = parse_ip(address);
  if (slash == std::string_view::npos || !network || !ip)
    return false;
  const bool is_ipv4 = cidr.substr(0, slash).find(':') == std::string_view::npos;
  auto bits = parse_number(cidr.substr(slash + 1), 10, is_ipv4 ? 32 : 128);
  if (!bits)
    return false;
  if (is_ipv4)
    *bits += 96;
  for (unsigned i = 0; i < *bits; ++i) {
    const unsigned mask = 0x80U >> (i % 8);
    if (((*network)[i / 8] & mask) != ((*ip)[i / 8] & mask))
      return false;
  }
  return true;
}

} // namespace belay::http
