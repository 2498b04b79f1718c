#pragma once
// How a client agent passes requests on to servers: what is said of a request, and of its answer as it comes. All on one thread.

#include "protocol/http/request.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::actors {

using header_list = std::vector<std::pair<std::string, std::string>>;

/// As a server shall see it.
struct relayed_request {
  std::string method, target;
  header_list headers; ///< without those that say how the body comes, and without Host
  std::string body;
  bool body_follows = false;                 ///< by relayed_call::send_body(); `body` is empty then
  bool waits_for_lock = false;               ///< the server is told if the client disconnects while it waits
  std::string secret{};                      ///< of the token that stands in `headers`; empty: it is anonymous
  std::optional<http::cached_read> cached{}; ///< an earlier answer will do
};

/// Whoever waits for an answer. It may end the call within any of these.
class answer_listener {
public:
  virtual ~answer_listener() = default;

  virtual void on_head(int status, header_list headers) = 0;
  virtual void on_body(std::string_view bytes) = 0;
  /// That was the whole answer.
  virtual void on_end() = 0;
  /// Nothing more comes. @param text for the client, with status 500. Before on_head(): what was asked may have happened unless
  ///   `nothing_sent`
  virtual void on_failure(std::string text, bool nothing_sent) = 0;
};

/// A request that was passed on. Whoever destroys it waits no more.
class relayed_call {
public:
  virtual ~relayed_call() = default;

  /// @pre relayed_request::body_follows, and no earlier call said `last`
  virtual void send_body(std::string_view bytes, bool last) = 0;
  /// Bytes of the body that were given to send_body() and have not left.
  virtual std::size_t unsent() const = 0;
  /// Whether the rest of the answer shall come for now.
  virtual void let_come(bool wanted) = 0;
  /// The client ended its connection, or its output, and may be gone: the server is to answer without waiting. @pre the body was sent
  virtual void end_wait() = 0;
};

class request_relay {
public:
  virtual ~request_relay() = default;

  /// @param listener is not called before this returns; outlives the call
  virtual std::unique_ptr<relayed_call> begin(relayed_request r, answer_listener& listener) = 0;
  /// Calls it when everything that is under way now has returned.
  virtual void later(std::function<void()> what) = 0;
};

} // namespace belay::actors
