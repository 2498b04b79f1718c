#pragma once
// Loads certificates and keys from files into an OpenSSL context. Failures name key and file.

#include "actors/tls/setting_complaint.hpp"
#include "protocol/base/result.hpp"

#include <string>
#include <vector>

struct ssl_ctx_st;

namespace belay::tls {

/// Trusts these authorities.
/// @param ca_file,ca_path PEM: a file, a folder of files; empty: none
status trust_authorities(ssl_ctx_st* context, const std::string& ca_file, const std::string& ca_path);

/// Sets the presented certificate.
/// @param cert_file PEM, its chain follows.
/// @param key_file its key
status show_certificate(ssl_ctx_st* context, const std::string& cert_file, const std::string& key_file);

/// Copies certificates `from` -> `to`. Each file is read once, so both agree while one is replaced.
status share_certificates(ssl_ctx_st* from, ssl_ctx_st* to);

/// All errors of the first two; opens each file.
/// @param cert_file,key_file checked if both are set
std::vector<setting_complaint> complaints_about_files(const std::string& ca_file, const std::string& ca_path,
                                                      const std::string& cert_file, const std::string& key_file);

} // namespace belay::tls
