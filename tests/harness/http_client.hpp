#pragma once
// A blocking HTTP/1.1 client for tests: sends targets unchanged, follows and retries nothing.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::harness {

using milliseconds = std::chrono::milliseconds;
using steady_time = std::chrono::steady_clock::time_point;

/// Seconds since `begun`.
double seconds_since(steady_time begun);

struct http_request {
  std::string method;
  std::string target; ///< already escaped
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<std::string> body; ///< none: no body at all, and Content-Length: 0 for PUT and POST
  bool chunked = false;            ///< send the body with Transfer-Encoding: chunked
};

struct http_reply {
  int status = 0;                             ///< 0 if `error` is set
  std::map<std::string, std::string> headers; ///< names in lower case; of repeated ones the last
  std::string body;
  double took = 0;   ///< seconds from before connecting (or sending, on an open connection) to the last byte
  std::string error; ///< why there is no complete response; empty if there is one

  /// The name may have any case. Null: absent.
  const std::string* header(std::string_view name) const;
  bool ok() const { return error.empty() && status == 200; }
};

/// One connection to 127.0.0.1, kept open as long as the server keeps it.
class http_connection {
public:
  explicit http_connection(std::uint16_t port);
  ~http_connection();
  http_connection(const http_connection&) = delete;
  http_connection& operator=(const http_connection&) = delete;

  /// @returns an error; empty if connected (even if it already was).
  std::string connect(milliseconds limit);
  /// Connects if needed, sends, and waits for the response. An error closes the connection.
  http_reply ask(const http_request& request, milliseconds limit);

  /// The two halves of `ask`, for a response that is read later.
  std::string send(const http_request& request, milliseconds limit);
  http_reply receive(milliseconds limit);

  /// Ends a call in which another thread waits.
  void interrupt();
  void close();
  int descriptor() const { return fd_; }

private:
  http_reply failed(std::string why);

  std::uint16_t port_;
  std::atomic<int> fd_{-1};
  std::string unread_;
  bool head_request_ = false;
  steady_time begun_;
};

/// One request on a connection of its own.
http_reply exchange(std::uint16_t port, const http_request& request, milliseconds limit);
http_reply http_get(std::uint16_t port, const std::string& target, milliseconds limit = milliseconds{10000});
http_reply http_put(std::uint16_t port, const std::string& target, std::string body,
                    milliseconds limit = milliseconds{10000});

} // namespace belay::harness
