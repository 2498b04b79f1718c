#pragma once
// Settings that this build must reject, and the address to advertise when a node binds all.

#include "protocol/base/result.hpp"

#include <boost/json/object.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace belay::actors {

/// A setting whose author expects a protection that this build does not give.
struct refused_setting {
  std::string path; ///< key with the problem
  std::string text; ///< why the node must not start
};

/// @param config checked and merged
std::vector<refused_setting> refused_protection(const boost::json::object& config);

bool is_ip_address(std::string_view text);
/// 0.0.0.0 or ::
bool is_unspecified_address(std::string_view text);

/// The address that peers get if the node binds all of them.
struct own_address {
  std::string address;
  std::string warning; ///< empty: none
};

/// The only private IPv4 address of the machine; 127.0.0.1 if it has no address at all.
/// @param addresses of the machine, IPv4 and IPv6, without loopback interfaces
/// @param is_single_server it has no peers: without a private IPv4 address it uses 127.0.0.1, with
/// a warning @returns a failure that begins with Consul's text if there is no such address, or more
/// than one
result<own_address> choose_own_address(const std::vector<std::string>& addresses, bool is_single_server);

std::string host_name();

} // namespace belay::actors
