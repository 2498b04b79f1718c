#pragma once
// Consul's `encrypt`: a secret shared by all servers. It is the root of a TLS 1.3 pre-shared key
// (RFC 8446, section 2.2) that authenticates servers; traffic keys are still fresh (psk_dhe_ke).
//
//   pre-shared key   HKDF-SHA256(secret, no salt, info "belay peer psk v1"), 32 bytes
//   its identity     HKDF-SHA256(secret, no salt, info "belay peer psk identity v1"), 8 bytes in hex; sent in the clear

#include "protocol/base/result.hpp"

#include <string>
#include <string_view>

namespace belay::tls {

struct peer_key {
  std::string text;   ///< value of `encrypt`: base64, in the canonical form that all servers write
  std::string secret; ///< 32 bytes, for TLS
  /// 16 hex digits by which the accepting side finds the right key. Reveals nothing about the
  /// secret.
  std::string identity;
};

/// @param encrypt base64 of 16, 24 or 32 bytes. The failure gives the reason, never the key.
result<peer_key> derive_peer_key(std::string_view encrypt);

/// A new secret for `encrypt`: base64 of 32 random bytes.
result<std::string> generate_peer_secret();

} // namespace belay::tls
