#pragma once
// The outcome of an operation on all keyrings, in Consul's words (docs/contract/12). Consul has
// two pools of servers, LAN (one datacenter) and WAN (all); here both are the same servers.

#include "protocol/forward/keyring_rounds.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace belay::http {

/// Empty: all members have completed it.
std::string keyring_complaint(const forward::keyring_outcome& o, std::string_view datacenter);

/// The JSON response to a list.
std::string render_keyring(const forward::keyring_outcome& o, std::string_view datacenter);

/// @param why the error of each pool
/// @param members name and reason of those to list
std::string keyring_errors(const std::vector<std::pair<std::string, std::string>>& members, std::string_view why,
                           std::string_view datacenter, bool local_only);

} // namespace belay::http
