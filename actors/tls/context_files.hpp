#pragma once
// Certificates and keys from files, into a context of OpenSSL. Failures name the configuration key and the file.

#include "actors/tls/setting_complaint.hpp"
#include "protocol/base/result.hpp"

#include <string>
#include <vector>

struct ssl_ctx_st;

namespace belay::tls {

/// Whoever has a certificate of these is trusted. @param ca_file,ca_path PEM: a file, a folder of files; empty: none
status trust_authorities(ssl_ctx_st* context, const std::string& ca_file, const std::string& ca_path);

/// What is shown to the other end. @param cert_file PEM: the certificate with the chain behind it. @param key_file its private key
status show_certificate(ssl_ctx_st* context, const std::string& cert_file, const std::string& key_file);

/// `to` trusts and shows what `from` does. Files are read once so: while one is being replaced, both still have the same.
status share_certificates(ssl_ctx_st* from, ssl_ctx_st* to);

/// What the first two would complain of, all of it; each file is opened. @param cert_file,key_file looked at if both are there
std::vector<setting_complaint> complaints_about_files(const std::string& ca_file, const std::string& ca_path,
                                                      const std::string& cert_file, const std::string& key_file);

} // namespace belay::tls
