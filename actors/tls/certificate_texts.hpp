#pragma once
// What is in a certificate, for logs and decisions.

#include <openssl/asn1.h>
#include <openssl/x509_vfy.h>

#include <string>

namespace belay::tls {

std::string written_time(const ASN1_TIME* t);
/// The first name for a host, else the common name.
std::string name_of(X509* certificate);
/// Exactly that name, for a host; a wildcard or a common name does not do.
bool names_host(X509* certificate, const std::string& name);

/// The first thing that OpenSSL finds wrong with the certificates of the other end.
struct certificate_refusal {
  int error = X509_V_OK;
  std::string detail; ///< of the certificate that is meant: its name, or when it expired

  explicit operator bool() const { return error != X509_V_OK; }
  /// For a verify callback that is told of an error. What was noted before stays.
  void note(X509_STORE_CTX* store);
  /// For logs. `whose`: `peer` or `client`.
  std::string text(const std::string& whose) const;
};
/// Of errors that say: no authority that we know has signed it.
bool is_of_unknown_authority(int error);

} // namespace belay::tls
