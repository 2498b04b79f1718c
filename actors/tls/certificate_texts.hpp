#pragma once
// What is in a certificate, for logs and decisions.

#include <openssl/asn1.h>
#include <openssl/x509.h>

#include <string>

namespace belay::tls {

std::string written_time(const ASN1_TIME* t);
/// The first name for a host, else the common name.
std::string name_of(X509* certificate);
/// Exactly that name, for a host; a wildcard or a common name does not do.
bool names_host(X509* certificate, const std::string& name);

} // namespace belay::tls
