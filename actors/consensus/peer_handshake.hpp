#pragma once
// Parses what arrives on an accepted connection until the peer is identified: a TLS handshake or
// none, depending on this server's credentials, and a hello. Does not touch the socket.

#include "actors/tls/channel.hpp"
#include "protocol/wire/frame_codec.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace belay::actors {

class peer_handshake {
public:
  /// Enough for a hello with the names and addresses of about twenty servers.
  static constexpr std::size_t hello_bytes_max = 4u << 10;

  /// The completed handshake.
  struct outcome {
    std::optional<tls::channel> channel; ///< none: the peer does not use TLS, which is allowed
    wire::hello hello;
    std::string after_hello; ///< bytes after the hello, decrypted: whole frames or parts of them
  };

  /// @param mine decide what this peer has to present
  explicit peer_handshake(tls::credentials_ptr mine) : mine_(std::move(mine)) {}

  /// Takes received bytes. An answer may follow, even after a failure (the reason).
  /// @returns nullopt: more needed; failure: why the peer is rejected. Do not call it again after
  /// an outcome
  result<std::optional<outcome>> feed(std::string_view bytes);
  /// What to send to the peer, once.
  std::string take_answer();

private:
  status take(std::string_view bytes);
  status choose_kind(std::string_view first);

  tls::credentials_ptr mine_;
  std::optional<tls::channel> channel_;
  std::string first_;     ///< bytes too few to show whether they are TLS
  std::string decrypted_; ///< decrypted; without TLS as received
  bool plain_ = false;
  std::string answer_;
};

} // namespace belay::actors
