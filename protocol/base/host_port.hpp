#pragma once
// Addresses as configurations, peers and people write them: host and port, IPv6 in brackets.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay {

/// An address to listen on. Exactly one of `host` and `unix_path` is set.
struct listen_address {
  std::string host; ///< IP address literal, without brackets
  std::uint16_t port = 0;
  std::string unix_path;
  bool https = false;

  bool operator==(const listen_address&) const = default;
};

/// Owner and mode of a Unix socket (Consul's `unix_sockets`); empty: the process's defaults.
struct unix_socket_rights {
  std::string user, group; ///< names or ids
  std::string mode;        ///< octal

  bool operator==(const unix_socket_rights&) const = default;
};

/// The two parts of an address, as texts.
struct host_port {
  std::string host;                ///< a name or an IP address, without brackets
  std::optional<std::string> port; ///< nullopt: no colon; empty: nothing after the colon

  /// The number that the port begins with; 0 if there is none, or it is above 65535.
  std::uint16_t number() const;
};

/// Splits a text with a port, at the last colon outside brackets: `::1:8300` is port 8300 of ::1.
host_port split_host_port(std::string_view address);
/// Splits a text with an optional port: more than one colon without brackets is an IPv6 address
/// alone.
host_port split_optional_port(std::string_view address);

/// `host:port`, with brackets around an IPv6 address.
std::string join_host_port(std::string_view host, std::string_view port);
std::string join_host_port(std::string_view host, std::uint16_t port);

/// An address with a port as Go's clients parse it, with brackets around IPv6. No port: unchanged.
std::string with_brackets(std::string_view address);

/// `[::1]` becomes `::1`; other texts are unchanged.
std::string_view without_brackets(std::string_view host);

} // namespace belay
