#pragma once
// Addresses as configurations, peers and people write them: a host and a port in one text, IPv6 in brackets.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay {

/// Where requests are listened for. Exactly one of `host` and `unix_path` is set.
struct listen_address {
  std::string host; ///< IP address literal, without brackets
  std::uint16_t port = 0;
  std::string unix_path;
  bool https = false;

  bool operator==(const listen_address&) const = default;
};

/// Whose a Unix socket is and who may use it (Consul's `unix_sockets`); what is empty stays as the process makes files.
struct unix_socket_rights {
  std::string user, group; ///< names or ids
  std::string mode;        ///< octal

  bool operator==(const unix_socket_rights&) const = default;
};

/// The two parts of an address, as texts.
struct host_port {
  std::string host;                ///< a name or an IP address, without brackets
  std::optional<std::string> port; ///< nullopt: no colon; empty: nothing behind the colon

  /// The number the port begins with; 0 if there is none, or one above 65535.
  std::uint16_t number() const;
};

/// Of a text that has a port: the last colon outside brackets stands before it. So `::1:8300` is the port 8300 of ::1.
host_port split_host_port(std::string_view address);
/// Of a text that may have none: more than one colon without brackets is an IPv6 address alone.
host_port split_optional_port(std::string_view address);

/// `host:port`, with brackets around an IPv6 address.
std::string join_host_port(std::string_view host, std::string_view port);
std::string join_host_port(std::string_view host, std::uint16_t port);

/// An address with a port as Go's clients read it: brackets around IPv6, however it was written. Without a port it is left as it is.
std::string with_brackets(std::string_view address);

/// `[::1]` is `::1`; all else is left as it is.
std::string_view without_brackets(std::string_view host);

} // namespace belay
