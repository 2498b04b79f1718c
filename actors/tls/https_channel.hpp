#pragma once
// The server's end of one HTTPS connection without its socket: converts between bytes
// of the wire and plaintext. TLS 1.2 and 1.3, HTTP/1.1 inside.

#include "actors/tls/https_credentials.hpp"
#include "protocol/base/result.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace belay::tls {

/// After a failure only output() may be used.
class https_channel {
public:
  /// Limit for the bytes of a client before the end of its handshake; certificates take at most 16
  /// KiB.
  static constexpr std::size_t handshake_bytes_max = 32u << 10;
  /// Handshake messages that a client may send afterwards: new keys. Few clients ever send one.
  static constexpr int late_messages_max = 32;
  /// Approximate memory of an idle connection in OpenSSL: 17 KiB measured, without certificates.
  static constexpr std::size_t resting_bytes = 24u << 10;

  explicit https_channel(https_credentials_ptr mine);
  ~https_channel();
  https_channel(https_channel&&) noexcept;
  https_channel& operator=(https_channel&&) noexcept;

  /// Gets decrypted bytes, at most 16 KiB at once. @returns false: stop, the rest is dropped
  using listener = std::function<bool(std::string_view plaintext)>;
  /// Takes received bytes. There may be output afterwards, even after a failure (the reason).
  /// @returns a failure: what is wrong with the client, or what it reported as wrong here
  status feed(std::string_view wire, const listener& on_plaintext);

  /// @pre established()
  status write(std::string_view plaintext);
  /// Sends close_notify. No effect before established().
  void end();
  /// Bytes to send to the client; the caller removes what it has sent.
  std::string& output();
  const std::string& output() const;

  /// Whether plaintext may pass.
  bool established() const;
  /// Whether the client has sent close_notify.
  bool ended_by_client() const;
  /// Whether the client resumed an earlier session.
  bool resumed() const;

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace belay::tls
