#pragma once
// What comes on an accepted connection until the peer has introduced itself: a handshake of TLS or none, as our credentials say, and a
// hello. Without the socket.

#include "actors/tls/channel.hpp"
#include "protocol/wire/frame_codec.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace belay::actors {

class peer_introduction {
public:
  /// A hello with the names and addresses of some twenty servers.
  static constexpr std::size_t hello_bytes_max = 4u << 10;

  /// What it was when it is over.
  struct outcome {
    std::optional<tls::channel> channel; ///< none: the peer speaks without TLS, which is allowed
    wire::hello hello;
    std::string said; ///< behind the hello, deciphered: whole frames or parts of them
  };

  /// @param mine what is demanded of this peer
  explicit peer_introduction(tls::credentials_ptr mine) : mine_(std::move(mine)) {}

  /// Takes what came. There may be an answer afterwards, also after a failure: it tells the peer why.
  /// @returns nullopt: more has to come; a failure: the peer is refused, for that reason. Neither is asked again
  result<std::optional<outcome>> feed(std::string_view bytes);
  /// What is to be sent to the peer, once.
  std::string take_answer();

private:
  status take(std::string_view bytes);
  status choose_kind(std::string_view first);

  tls::credentials_ptr mine_;
  std::optional<tls::channel> channel_;
  std::string first_; ///< bytes that do not say yet whether they are TLS
  std::string said_;  ///< deciphered, without TLS as it came
  bool plain_ = false;
  std::string answer_;
};

} // namespace belay::actors
