#pragma once
// One TLS 1.3 connection without its socket: converts between bytes of the wire and plaintext.
// Both ends authenticate, by certificates or a pre-shared key, before any plaintext passes.

#include "actors/tls/credentials.hpp"
#include "protocol/base/result.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace belay::tls {

/// Bytes of the peer before the end of its handshake. Chains of certificates are a few KiB.
constexpr std::size_t handshake_bytes_max = 32u << 10;

/// What the handshake has proved about the peer.
struct peer_proof {
  bool by_key = false;           ///< by a pre-shared key; otherwise by a certificate
  std::string name;              ///< for logs: the identity of the key, or the first name of the certificate
  bool may_be_raft_peer = false; ///< has a key, or a certificate that names server.DATACENTER.DOMAIN
  /// The same, or a certificate that names client.DATACENTER.DOMAIN, or no certificate: such a peer
  /// is trusted as much as one without TLS.
  bool may_be_client_agent = false;
};

/// Do not use it after a failure, which every later call repeats.
class channel {
public:
  enum class side { dials, accepts };

  /// The dialling side has output at once.
  channel(credentials_ptr mine, side s);
  ~channel();
  channel(channel&&) noexcept;
  channel& operator=(channel&&) noexcept;

  /// Takes received bytes; appends decrypted ones to `plaintext`. There may be output afterwards,
  /// even after a failure: it gives the peer the reason. @returns a failure that says what is wrong
  /// with the peer, or what the peer reported as wrong here
  status feed(std::string_view ciphertext, std::string& plaintext);

  /// @pre established()
  status write(std::string_view plaintext);

  /// Moves the bytes to send to the peer to the end of `out`.
  void take_output(std::string& out);

  /// Whether plaintext may pass. The dialling side gets here one message earlier than the accepting
  /// one, which may still reject it: then feed() fails with the reason.
  bool established() const;
  /// @pre established()
  const peer_proof& peer() const;

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace belay::tls
