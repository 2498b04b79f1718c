#pragma once
// The interface through which a client agent sends requests to servers and receives answers.
// Everything happens on one thread.

#include "protocol/http/request.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::actors {

using header_list = std::vector<std::pair<std::string, std::string>>;

/// Which connections to servers a request may use (server_relay).
enum class relay_lane : std::uint8_t {
  relay,  ///< the agent's heartbeat and list of servers
  rows,   ///< the agent's registrations
  clients ///< requests of the agent's clients
};

/// A request as a server gets it.
struct relayed_request {
  std::string method, target;
  header_list headers; ///< without framing headers, and without Host
  std::string body;
  bool body_follows = false; ///< by relayed_call::send_body(); `body` is empty then
  relay_lane lane = relay_lane::clients;
  bool waits = false;                        ///< the server may wait for a change or a lock before it answers
  bool waits_for_lock = false;               ///< the server is notified if the client disconnects while it waits
  std::string secret{};                      ///< secret of the token in `headers`; empty: anonymous
  std::optional<http::cached_read> cached{}; ///< an earlier answer is acceptable
};

/// Receives an answer. Each of these functions may end the call.
class answer_listener {
public:
  virtual ~answer_listener() = default;

  virtual void on_head(int status, header_list headers) = 0;
  virtual void on_body(std::string_view bytes) = 0;
  /// The answer is complete.
  virtual void on_end() = 0;
  /// The answer ends here, incomplete.
  /// @param text for the client, with status 500. Before on_head(): the request may have been
  /// executed unless `nothing_sent`
  virtual void on_failure(std::string text, bool nothing_sent) = 0;
};

/// A request in progress. Destroy it to stop waiting.
class relayed_call {
public:
  virtual ~relayed_call() = default;

  /// @pre relayed_request::body_follows, and no earlier call had `last` set
  virtual void send_body(std::string_view bytes, bool last) = 0;
  /// Bytes passed to send_body() and not sent yet.
  virtual std::size_t unsent() const = 0;
  /// Resumes or pauses receiving the rest of the answer.
  virtual void let_come(bool wanted) = 0;
  /// The client closed its connection or output: the server should end the wait and answer. @pre
  /// the body was sent
  virtual void end_wait() = 0;
};

class request_relay {
public:
  virtual ~request_relay() = default;

  /// @param listener not called before this returns; must outlive the call
  virtual std::unique_ptr<relayed_call> begin(relayed_request r, answer_listener& listener) = 0;
  /// Calls it when all calls now in progress have returned.
  virtual void later(std::function<void()> what) = 0;
};

} // namespace belay::actors
