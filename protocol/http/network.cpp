#include "protocol/http/network.hpp"

#include <arpa/inet.h> // conversions only

#include <algorithm>
#include <charconv>

namespace belay::http {

std::optional<ip_address> parse_ip(std::string_view text) {
  char terminated[INET6_ADDRSTRLEN] = {};
  if (text.size() >= sizeof terminated || text.find('\0') != std::string_view::npos)
    return std::nullopt;
  std::copy(text.begin(), text.end(), terminated);
  ip_address ip{};
  const bool is_ipv6 = text.find(':') != std::string_view::npos;
  if (!is_ipv6)
    ip[10] = ip[11] = 0xFF;
  if (inet_pton(is_ipv6 ? AF_INET6 : AF_INET, terminated, is_ipv6 ? ip.data() : ip.data() + 12) != 1)
    return std::nullopt;
  return ip;
}

std::string network_of(std::string_view address) {
  auto ip = parse_ip(address.substr(0, address.find('%')));
  if (!ip)
    return std::string(address);
  char text[INET6_ADDRSTRLEN] = {};
  constexpr ip_address mapped_ipv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  if (std::equal(ip->begin(), ip->begin() + 12, mapped_ipv4.begin()))
    return inet_ntop(AF_INET, ip->data() + 12, text, sizeof text);
  std::fill(ip->begin() + 8, ip->end(), 0);
  return std::string(inet_ntop(AF_INET6, ip->data(), text, sizeof text)) + "/64";
}

bool network_contains(std::string_view cidr, std::string_view address) {
  const auto slash = cidr.find('/');
  const auto network = parse_ip(cidr.substr(0, slash)), ip = parse_ip(address);
  if (slash == std::string_view::npos || !network || !ip)
    return false;
  const bool is_ipv4 = cidr.substr(0, slash).find(':') == std::string_view::npos;
  const auto* end = cidr.data() + cidr.size();
  unsigned bits = 0;
  const auto read = std::from_chars(cidr.data() + slash + 1, end, bits);
  if (read.ec != std::errc{} || read.ptr != end || bits > (is_ipv4 ? 32 : 128))
    return false;
  if (is_ipv4)
    bits += 96;
  for (unsigned i = 0; i < bits; ++i) {
    const unsigned mask = 0x80U >> (i % 8);
    if (((*network)[i / 8] & mask) != ((*ip)[i / 8] & mask))
      return false;
  }
  return true;
}

} // namespace belay::http
