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
};

/// Those of interfaces that are up, in the order of the kernel; none that is good on one link only (fe80::, 169.254.0.0).
std::vector<interface_address> interface_addresses();

/// Puts an address in the place of each template, and leaves all else as it is:
/// `{{ GetPrivateIP }}`          a private one (RFC 6890): the default route's before others, IPv4 before IPv6
/// `{{ GetInterfaceIP "eth0" }}` that of the interface with that name (Consul takes patterns of names, too), IPv4 before IPv6
/// @returns a failure for another template, or if there is no such address.
result<std::string> expand_address_templates(std::string_view text, const std::vector<interface_address>& there);

} // namespace belay::actors
