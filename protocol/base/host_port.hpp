#pragma once
// Addresses as configurations and peers write them.

#include <cstdint>
#include <string>

namespace belay {

/// Where requests are listened for. Exactly one of `host` and `unix_path` is set.
struct listen_address {
  std::string host; ///< IP address literal, without brackets
  std::uint16_t port = 0;
  std::string unix_path;

  bool operator==(const listen_address&) const = default;
};

} // namespace belay
