#pragma once
// One call of grpc.health.v1.Health/Check as bytes of HTTP/2 (libnghttp2), without a socket
// (https://github.com/grpc/grpc/blob/master/doc/health-checking.md and PROTOCOL-HTTP2.md there).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

struct nghttp2_session;

namespace belay::actors {

class grpc_call {
public:
  struct question {
    std::string authority; ///< host:port
    std::string service;   ///< empty: the server as a whole
    bool tls = false;
  };
  explicit grpc_call(const question& q);
  ~grpc_call();
  grpc_call(const grpc_call&) = delete;
  grpc_call& operator=(const grpc_call&) = delete;

  /// What to send now.
  std::string take_output();
  /// Processes received bytes. Invalid ones are not an error here: they determine the outcome.
  void feed(std::string_view bytes);
  /// The connection has ended.
  void ended();

  /// nullopt: not known yet; empty: serving. Otherwise the reason, in the words of Go's library.
  const std::optional<std::string>& outcome() const { return outcome_; }

private:
  struct callbacks;

  void on_header(std::string_view name, std::string_view value);
  void on_data(std::string_view bytes);
  void on_closed(std::uint32_t error_code);
  void conclude(std::string text);
  std::optional<std::string> health_error() const;

  nghttp2_session* session_ = nullptr;
  std::string request_; ///< the message, preceded by its length
  std::size_t request_sent_ = 0;
  std::string http_status_, grpc_status_, grpc_message_, answer_;
  std::optional<std::string> outcome_;
};

/// `rpc error: code = NAME desc = TEXT`
std::string grpc_error(int code, std::string_view text);
inline constexpr int grpc_deadline_exceeded = 4, grpc_unavailable = 14;

} // namespace belay::actors
