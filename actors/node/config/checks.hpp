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

/// An address of this machine that peers can be told if the node binds all of them: the only private IPv4 address.
/// @returns a failure (in Consul's words) if there are several; 127.0.0.1 if there is none.
result<std::string> own_address();

/// What a default route would be chosen from; own_address() decides by this. IPv4 without loopback.
result<std::string> choose_own_address(const std::vector<std::string>& ipv4_addresses);

std::string host_name();

} // namespace belay::actors
