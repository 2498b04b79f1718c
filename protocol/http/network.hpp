#pragma once
// Networks in CIDR notation, to say from where something is allowed.

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace belay::http {

/// An IPv4 address is the IPv6 one that stands for it (::ffff:a.b.c.d).
using ip_address = std::array<unsigned char, 16>;

std::optional<ip_address> parse_ip(std::string_view text);
/// `cidr` such as "10.0.0.0/8" or "fd00::/8"; false for what is none, or an address that is none.
bool network_contains(std::string_view cidr, std::string_view address);

/// The client that an address stands for, for bounds of which each client has a share: the IPv4 address, of IPv6 the first 64 bits as
/// "2001:db8:1:2::/64". A client with one address of such a network has them all (RFC 4291, section 2.5.4).
/// @returns `address` itself if it is none, as that of a Unix socket
std::string network_of(std::string_view address);

} // namespace belay::http
