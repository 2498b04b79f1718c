#pragma once
// One TLS 1.3 connection without its socket: bytes of the wire in, bytes of the user out, and the other way round. Both ends
// prove who they are, by certificates or by a pre-shared key, before the first byte of the user passes.

#include "actors/tls/credentials.hpp"
#include "protocol/base/result.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace belay::tls {

/// Bytes of the peer before its handshake is over. Chains of certificates are a few KiB.
constexpr std::size_t handshake_bytes_max = 32u << 10;

/// What the other end has proved.
struct peer_proof {
  bool by_key = false;           ///< by a pre-shared key; else by a certificate
  std::string name;              ///< for logs: the identity of the key, or the first name of the certificate
  bool may_be_raft_peer = false; ///< has a key, or a certificate that names server.DATACENTER.DOMAIN
  /// The same, or one that names client.DATACENTER.DOMAIN, or none at all: that is as good as no TLS.
  bool may_be_client_agent = false;
};

/// Not to be used after a failure, which every later call repeats.
class channel {
public:
  enum class side { dials, accepts };

  /// The dialling side has output at once.
  channel(credentials_ptr mine, side s);
  ~channel();
  channel(channel&&) noexcept;
  channel& operator=(channel&&) noexcept;

  /// Takes what came from the peer; appends what it said to `plaintext`. There may be output afterwards, also after a
  /// failure: it tells the peer why.
  /// @returns a failure that says what is wrong with the peer, or what the peer found wrong with us.
  status feed(std::string_view ciphertext, std::string& plaintext);

  /// @pre established()
  status write(std::string_view plaintext);

  /// Appends what is to be sent to the peer, and forgets it.
  void take_output(std::string& out);

  /// Whether the user's bytes may pass. At the dialling side this is one message earlier than at the accepting one, which may still
  /// refuse: then feed() fails with its reason.
  bool established() const;
  /// @pre established()
  const peer_proof& peer() const;

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace belay::tls
