#pragma once
// Requests that are under way side by side, over connections that are kept. Its own names only: the client library, which has
// others of the same kind, can be included beside it.

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belay::cli {

struct api_target;

class exchange_pool {
public:
  struct question {
    std::string method;
    std::string target; ///< escaped path and query
    std::string idempotency_key;
    std::string body;
  };
  struct reply {
    unsigned status = 0; ///< 0: no answer came, and `body` says why
    bool sent = true;    ///< of one without an answer: whether the request may have reached the server
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers;
  };

  /// All of it on one thread.
  exchange_pool(boost::asio::any_io_executor executor, const api_target& target);
  /// What is under way ends without a word.
  ~exchange_pool();

  /// @param limit until the answer is there @param done called once, from the executor's loop
  /// @returns what give_up() knows it by
  std::uint64_t ask(question q, std::chrono::milliseconds limit, std::function<void(reply)> done);
  /// It is not called any more, and the connection is closed.
  void give_up(std::uint64_t ticket);

private:
  struct parts;
  std::shared_ptr<parts> parts_;
};

} // namespace belay::cli
