#include "actors/tls/peer_key.hpp"

#include "actors/tls/openssl_handles.hpp"
#include "protocol/base/hex.hpp"
#include "protocol/go_compat/base64.hpp"

#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

namespace belay::tls {

namespace {

using kdf_ptr = std::unique_ptr<EVP_KDF, openssl_free<EVP_KDF_free>>;
using kdf_context_ptr = std::unique_ptr<EVP_KDF_CTX, openssl_free<EVP_KDF_CTX_free>>;

/// HKDF of RFC 5869 with SHA-256 and without salt. Empty: OpenSSL has none.
std::string hkdf(std::string secret, std::string info, std::size_t bytes) {
  const kdf_ptr algorithm(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  if (!algorithm)
    return {};
  const kdf_context_ptr context(EVP_KDF_CTX_new(algorithm.get()));
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret.data(), secret.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
      OSSL_PARAM_construct_end(),
  };
  std::string out(bytes, '\0');
  if (!context ||
      EVP_KDF_derive(context.get(), reinterpret_cast<unsigned char*>(out.data()), out.size(), parameters) != 1)
    return {};
  return out;
}

} // namespace

result<peer_key> derive_peer_key(std::string_view encrypt) {
  auto secret = go_compat::decode_base64(encrypt);
  if (!secret)
    return failure{"encrypt has invalid key: " + secret.error()};
  if (secret->size() != 16 && secret->size() != 24 && secret->size() != 32)
    return failure{"encrypt has invalid key: key size must be 16, 24 or 32 bytes"};
  peer_key k;
  k.text = go_compat::base64(*secret);
  k.secret = hkdf(*secret, "belay peer psk v1", 32);
  for (const unsigned char c : hkdf(*secret, "belay peer psk identity v1", 8))
    append_hex(k.identity, c, 2);
  if (k.secret.empty() || k.identity.empty())
    return failure{"encrypt: OpenSSL has no HKDF with SHA-256: " + openssl_complaint()};
  return k;
}

result<std::string> generate_peer_secret() {
  unsigned char bytes[32];
  if (RAND_bytes(bytes, sizeof bytes) != 1)
    return failure{"no random bytes available: " + openssl_complaint()};
  return go_compat::base64({reinterpret_cast<const char*>(bytes), sizeof bytes});
}

} // namespace belay::tls
