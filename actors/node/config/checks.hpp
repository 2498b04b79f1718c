#pragma once
// What a configuration may not ask of this build, and which address stands for "all of them".

#include "protocol/base/result.hpp"

#include <boost/json/object.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace belay::actors {

/// A setting that would leave a door open which its author believes locked.
struct refused_setting {
  std::string path; ///< of the key
  std::string text; ///< why the node must not start
};

/// @param config checked and merged
std::vector<refused_setting> refused_protection(const boost::json::object& config);

bool is_ip_address(std::string_view text);
/// 0.0.0.0 or ::
bool is_unspecified_address(std::string_view text);

/// The address that peers are told if the node binds all of them.
struct own_address {
  std::string address;
  std::string warning; ///< empty: none
};

/// The only private IPv4 address of the machine; 127.0.0.1 if it has no address at all.
/// @param addresses of the machine, IPv4 and IPv6, without those of loopback interfaces
/// @param is_single_server it has no peers: if there is no private IPv4 address it stays on 127.0.0.1, with a warning
/// @returns a failure that begins with Consul's words if there is no such address, or more than one
result<own_address> choose_own_address(const std::vector<std::string>& addresses, bool is_single_server);

/// Of interfaces that are up, without loopback.
std::vector<std::string> addresses_of_machine();

std::string host_name();

} // namespace belay::actors
