#pragma once
// The server's end of one HTTPS connection without its socket: bytes of the wire in, bytes of the client out, and the other way
// round. TLS 1.2 and 1.3, HTTP/1.1 inside.

#include "actors/tls/https_credentials.hpp"
#include "protocol/base/result.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace belay::tls {

/// Not to be used after a failure, but for output().
class https_channel {
public:
  /// Bytes of a client before its handshake is over. Its certificates are at most 16 KiB of it.
  static constexpr std::size_t handshake_bytes_max = 32u << 10;
  /// Messages of a handshake that a client may send when it is over: new keys. Few clients ever send one.
  static constexpr int late_messages_max = 32;
  /// What OpenSSL holds for a connection between two messages, about: 17 KiB were measured, without a client's certificates.
  static constexpr std::size_t resting_bytes = 24u << 10;

  explicit https_channel(https_credentials_ptr mine);
  ~https_channel();
  https_channel(https_channel&&) noexcept;
  https_channel& operator=(https_channel&&) noexcept;

  /// Gets what the client said, at most 16 KiB at once. @returns false: no more, the rest is dropped
  using listener = std::function<bool(std::string_view plaintext)>;
  /// Takes what came from the client. There may be output afterwards, also after a failure: it tells the client why.
  /// @returns a failure that says what is wrong with the client, or what the client found wrong with us.
  status feed(std::string_view wire, const listener& said);

  /// @pre established()
  status write(std::string_view plaintext);
  /// Tells the client that nothing follows. Nothing before established().
  void end();
  /// What is to be sent to the client; whoever has sent it takes it away.
  std::string& output();
  const std::string& output() const;

  /// Whether bytes of the user may pass.
  bool established() const;
  /// The client has told that nothing follows.
  bool ended_by_client() const;
  /// It goes on with a session of before.
  bool resumed() const;

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace belay::tls
