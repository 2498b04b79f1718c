#pragma once
// Addresses that a configuration leaves to the machine: the two templates of go-sockaddr that Consul's users write most.

#include "protocol/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace belay::actors {

struct interface_address {
  std::string interface; ///< `eth0`
  std::string address;   ///< IPv4 or IPv6, without a scope
  bool on_default_route = false;
  int network_bits = 0; ///< the 24 of 10.0.0.1/24
};

/// Those of interfaces that are up, in the order of the kernel; none that is good on one link only (fe80::, 169.254.0.0).
std::vector<interface_address> interface_addresses();

/// Puts an address in the place of each template, and leaves all else as it is:
/// `{{ GetPrivateIP }}`          a private one (RFC 6890), of the default route's interface before others
/// `{{ GetInterfaceIP "eth0" }}` one of the interface with that name (Consul takes patterns of names, too, and never loopback)
/// Of several, IPv4 goes before IPv6, a larger network before a smaller one; addresses of documents (192.0.2.0/24) are none. Seen at
/// Consul 1.8.7.
/// @returns a failure for another template, or if there is no such address.
result<std::string> expand_address_templates(std::string_view text, const std::vector<interface_address>& there);

} // namespace belay::actors
