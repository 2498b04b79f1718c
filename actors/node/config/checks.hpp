#pragma once
// What a configuration may not ask of this build, and which address stands for "all of them".

#include "protocol/base/result.hpp"

#include <boost/json/object.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace belay::actors {

/// Settings that would leave a door open which their author believes locked: HTTPS.
/// @param config checked and merged
/// @returns empty, or why the node must not start.
std::string refused_protection(const boost::json::object& config);

bool is_ip_address(std::string_view text);
/// 0.0.0.0 or ::
bool is_unspecified_address(std::string_view text);

/// An address of this machine that peers can be told if the node binds all of them: the only private IPv4 address.
/// @returns a failure (in Consul's words) if there are several; 127.0.0.1 if there is none.
result<std::string> own_address();

/// What a default route would be chosen from; own_address() decides by this. IPv4 without loopback.
result<std::string> choose_own_address(const std::vector<std::string>& ipv4_addresses);

std::string host_name();

} // namespace belay::actors
