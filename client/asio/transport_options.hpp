#pragma once
// Which servers to use, and how. Errors in the options are found before any request.

#include <belay/client.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace boost::asio::ssl {
class context;
}

namespace belay {
inline namespace v0 {
namespace detail {

struct server_address {
  bool tls = false;
  std::string host; ///< a path if it is a Unix socket
  std::uint16_t port = 0;
  bool unix_socket = false;
  std::string host_header;
};

struct transport_options {
  std::vector<std::string> servers;
  std::vector<server_address> addresses; ///< more servers, parsed
  std::string token;
  std::string basic_auth; ///< NAME:PASSWORD; empty: none
  std::string scope;      ///< added to the query of each request, such as `dc=dc2`
  std::string ca_file;    ///< empty: the system's
  std::string cert_file;
  std::string key_file;
  bool verify_server = true;
  /// Not null: takes precedence over the files above, and decides whether the server is verified.
  std::shared_ptr<boost::asio::ssl::context> tls;
  std::string server_name; ///< the name that a certificate must have; empty: the host of the address
  std::size_t connections_max = 64;
  std::size_t waiting_max = 1024; ///< requests in progress or waiting for a connection
  std::size_t answer_bytes_max = 64u << 20;
  std::chrono::milliseconds connect_within{3000};
  bool names_server = true; ///< whether connection errors begin with the server's address
  /// Called for each request that ends, unless it was stopped.
  /// @param given the time limit that it had
  std::function<void(const request& q, std::chrono::nanoseconds given, const answer& a)> on_answer;
};

/// The part of a client's options that concerns requests.
transport_options transport_of(const client_options& o);

/// Parses `http://HOST[:PORT]`, `https://HOST[:PORT]`, `HOST:PORT`, `unix:///PATH`.
result<server_address> parse_server(std::string_view text);

} // namespace detail
} // namespace v0
} // namespace belay
