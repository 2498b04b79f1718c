#pragma once
// Which servers to use, and how. Errors in the options are found before any request.

#include <belay/client.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay {
inline namespace v0 {
namespace detail {

struct transport_options {
  std::vector<std::string> servers;
  std::string token;
  std::string ca_file; ///< empty: the system's
  std::string cert_file;
  std::string key_file;
  bool verify_server = true;
  std::size_t connections_max = 64;
  std::size_t waiting_max = 1024; ///< requests in progress or waiting for a connection
  std::size_t answer_bytes_max = 64u << 20;
  std::chrono::milliseconds connect_within{3000};
};

/// The part of a client's options that concerns requests.
transport_options transport_of(const client_options& o);

struct server_address {
  bool tls = false;
  std::string host; ///< a path if it is a Unix socket
  std::uint16_t port = 0;
  bool unix_socket = false;
  std::string host_header;
};

/// Parses `http://HOST[:PORT]`, `https://HOST[:PORT]`, `HOST:PORT`, `unix:///PATH`.
result<server_address> parse_server(std::string_view text);

} // namespace detail
} // namespace v0
} // namespace belay
