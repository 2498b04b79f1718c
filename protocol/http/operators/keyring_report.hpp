#pragma once
// What came of an operation on the keyrings of all members, in Consul's words (docs/contract/12). Consul has two pools of servers,
// one in a datacenter (LAN) and one that spans datacenters (WAN); here both are the same servers.

#include "protocol/forward/keyring_rounds.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace belay::http {

/// Empty: all members have done it.
std::string keyring_complaint(const forward::keyring_outcome& o, std::string_view datacenter);

/// The JSON text that answers a list.
std::string render_keyring(const forward::keyring_outcome& o, std::string_view datacenter);

/// @param why what is said of each pool
/// @param members name and reason of those who are to be named
std::string keyring_errors(const std::vector<std::pair<std::string, std::string>>& members, std::string_view why,
                           std::string_view datacenter, bool local_only);

} // namespace belay::http
