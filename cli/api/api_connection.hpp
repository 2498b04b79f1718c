#pragma once
// Requests to a node's HTTP API and their answers, by the client library, over connections that are
// kept as long as the server keeps them.

#include "cli/api/api_exchange.hpp"
#include "cli/names.hpp"

#include "client/asio/socket_world.hpp"

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>

namespace belay::cli {

/// What the library's transport has to know. @param scope what is added to each query, as `dc=dc2`
v0::detail::transport_options transport_of(const api_target& target, std::string scope = {});

/// One request at a time.
class api_connection {
public:
  api_connection(boost::asio::io_context& loop, api_target target);
  ~api_connection();

  /// @returns a failure if there was no complete answer: then a write may or may not have happened.
  boost::asio::awaitable<result<api_answer>> ask(api_request request);
  /// Ends the request that is under way, which fails, and refuses those to come.
  void close() { closed_.stop(); }

private:
  v0::task<v0::answer> exchange(const v0::request& q, const api_request& request, std::string& body);

  api_target target_;
  v0::detail::socket_world sockets_;
  v0::stopper closed_;
};

} // namespace belay::cli
