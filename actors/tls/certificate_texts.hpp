#pragma once
// Names and times in a certificate, for logs and decisions.

#include <openssl/asn1.h>
#include <openssl/x509_vfy.h>

#include <string>

namespace belay::tls {

std::string written_time(const ASN1_TIME* t);
/// The first DNS name, or else the common name.
std::string name_of(X509* certificate);
/// Whether it has exactly that DNS name; wildcards and the common name do not count.
bool names_host(X509* certificate, const std::string& name);

/// The first error that OpenSSL finds in the certificates of the other end.
struct certificate_refusal {
  int error = X509_V_OK;
  std::string detail; ///< name of the certificate concerned, or when it expired

  explicit operator bool() const { return error != X509_V_OK; }
  /// Call it from a verify callback that gets an error. Keeps the first one.
  void note(X509_STORE_CTX* store);
  /// The text for logs. `whose`: `peer` or `client`.
  std::string text(const std::string& whose) const;
};
/// Whether the error means that no trusted authority has signed the certificate.
bool is_of_unknown_authority(int error);

} // namespace belay::tls
