#pragma once
// Networks in CIDR notation, to limit from where a request is allowed.

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace belay::http {

/// An IPv4 address is stored as its IPv6 form (::ffff:a.b.c.d).
using ip_address = std::array<unsigned char, 16>;

std::optional<ip_address> parse_ip(std::string_view text);
/// `cidr` such as "10.0.0.0/8" or "fd00::/8"; false if either is malformed.
bool network_contains(std::string_view cidr, std::string_view address);

/// The client behind an address, for limits per client: the IPv4 address, or the first 64 bits of
/// IPv6 as "2001:db8:1:2::/64". A client may use all of that network (RFC 4291, 2.5.4).
/// @returns `address` itself if it is not an IP address, e.g. of a Unix socket
std::string network_of(std::string_view address);

} // namespace belay::http
