#pragma once
// Requests to a node's HTTP API and their answers, over a connection that is kept open as long as the server keeps it.

#include "cli/http/api_exchange.hpp"
#include "cli/http/byte_stream.hpp"

#include <memory>
#include <string>

namespace belay::cli {

/// One request at a time.
class api_connection {
public:
  api_connection(boost::asio::any_io_executor executor, api_target target);
  ~api_connection();

  /// @returns a failure if there was no complete answer: then a write may or may not have happened.
  boost::asio::awaitable<result<api_answer>> ask(api_request request);
  /// Ends the request that is under way, which fails, and refuses those to come.
  void close();
  /// Whether anything of the last request may have left.
  bool sent() const { return sent_; }

private:
  boost::asio::awaitable<result<api_answer>> send_and_receive(const api_request& request, const std::string& target);

  boost::asio::any_io_executor executor_;
  api_target target_;
  std::unique_ptr<byte_stream> stream_;
  bool closed_ = false, sent_ = false;
};

} // namespace belay::cli
