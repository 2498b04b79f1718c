#pragma once
// Sends requests to a node's HTTP API through the client library. Connections stay open as long as
// the server keeps them open.

#include "cli/api/api_exchange.hpp"
#include "cli/names.hpp"

#include "client/asio/socket_environment.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>

namespace belay::cli {

/// The options of the library's transport.
/// @param scope added to each query, such as `dc=dc2`
v0::detail::transport_options transport_of(const api_target& target, std::string scope = {});

/// Sends one request at a time.
class api_connection {
public:
  api_connection(boost::asio::io_context& loop, api_target target);
  ~api_connection();

  /// @returns a failure if no complete response arrived; a write may or may not have taken effect
  boost::asio::awaitable<result<api_answer>> ask(api_request request);
  /// Makes the pending request and all later ones fail.
  void close() { closed_.stop(); }

private:
  v0::task<v0::answer> exchange(const v0::request& q, const api_request& request, std::string& body);

  api_target target_;
  v0::detail::socket_environment sockets_;
  v0::stop_source closed_;
};

} // namespace belay::cli
