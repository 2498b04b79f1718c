#pragma once
// Expands address templates: the two of go-sockaddr that Consul's users need most.

#include "protocol/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace belay::actors {

struct interface_address {
  std::string interface; ///< `eth0`
  std::string address;   ///< IPv4 or IPv6, without a scope
  bool on_default_route = false;
  int network_bits = 0;    ///< the 24 of 10.0.0.1/24
  bool loopback = false;   ///< of the interface
  bool link_local = false; ///< fe80::, 169.254.0.0; no template has such an address
};

/// Addresses of interfaces that are up, in kernel order.
std::vector<interface_address> interface_addresses();

/// Replaces each template by an address, and leaves the rest as it is:
/// `{{ GetPrivateIP }}`          a private one (RFC 6890), preferably of the default route's interface
/// `{{ GetInterfaceIP "eth0" }}` one of that interface (Consul accepts name patterns, and never loopback)
/// Of several, IPv4 takes precedence over IPv6, a larger network over a smaller one; documentation
/// addresses (192.0.2.0/24) are ignored. Observed with Consul 1.8.7.
/// @returns a failure for another template, or if there is no such address.
result<std::string> expand_address_templates(std::string_view text, const std::vector<interface_address>& there);

} // namespace belay::actors
