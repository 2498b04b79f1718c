#pragma once
// OpenSSL's objects as owning pointers, and its error queue as text.

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace belay::tls {

template <auto Free>
struct openssl_free {
  template <class T>
  void operator()(T* p) const {
    Free(p);
  }
};

using bio_ptr = std::unique_ptr<BIO, openssl_free<BIO_free_all>>;
using key_ptr = std::unique_ptr<EVP_PKEY, openssl_free<EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, openssl_free<X509_free>>;
using context_ptr = std::unique_ptr<SSL_CTX, openssl_free<SSL_CTX_free>>;
using ssl_ptr = std::unique_ptr<SSL, openssl_free<SSL_free>>;
using session_ptr = std::unique_ptr<SSL_SESSION, openssl_free<SSL_SESSION_free>>;

/// What was written to a BIO in memory.
inline std::string text_of(BIO* memory) {
  char* text = nullptr;
  const auto size = BIO_get_mem_data(memory, &text);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

/// The first error in OpenSSL's queue, in its words; empties the queue. Empty: there was none.
inline std::string openssl_complaint() {
  const auto first = ERR_get_error();
  ERR_clear_error();
  if (first == 0)
    return {};
  const auto* reason = ERR_reason_error_string(first);
  return reason != nullptr ? reason : "error " + std::to_string(first);
}

} // namespace belay::tls
