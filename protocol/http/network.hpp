#pragma once
// Networks in CIDR notation, to say from where something is allowed.

#include <array>
#include <optional>
#include <string_view>

namespace belay::http {

/// An IPv4 address is the IPv6 one that stands for it (::ffff:a.b.c.d).
using ip_address = std::array<unsigned char, 16>;

std::optional<ip_address> parse_ip(std::string_view text);
/// `cidr` such as "10.0.0.0/8" or "fd00::/8"; false for what is none, or an address that is none.
bool network_contains(std::string_view cidr, std::string_view address);

} // namespace belay::http
