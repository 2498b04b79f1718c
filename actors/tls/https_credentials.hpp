#pragma once
// What HTTPS clients are presented, and what is required of them. Read from files once;
// a reload makes new credentials, and channels keep theirs. docs/operate/security.md, "HTTPS".

#include "actors/tls/setting_complaint.hpp"
#include "protocol/base/result.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct ssl_ctx_st;

namespace belay::tls {

/// Consul's keys of the same names.
struct https_settings {
  std::string ca_file, ca_path;           ///< PEM: a file, a folder of files
  std::string cert_file, key_file;        ///< PEM: the certificate followed by its chain, its private key
  bool verify_incoming = false;           ///< verify_incoming or verify_incoming_https: clients must have a certificate
  std::string tls_min_version = "tls12";  ///< tls10, tls11 or tls12. Versions before TLS 1.2 are never used
  std::vector<std::string> cipher_suites; ///< for TLS 1.2, in Go's names; empty: those with forward secrecy and AEAD
  bool prefer_server_cipher_suites = false; ///< use the order of `cipher_suites`, not the client's
};

/// Consul's `tls_cipher_suites`: names separated by commas. Failures have Consul's text.
result<std::vector<std::string>> parse_cipher_suites(std::string_view text);

/// Errors visible without opening a file.
std::vector<setting_complaint> complaints_about(const https_settings& s);

class https_credentials {
public:
  /// Without a certificate every handshake fails, as in Consul; see has_certificate().
  /// @param before in force until now: its clients can resume sessions, unless authorities changed.
  /// Null: none @returns a failure that names the key and the file, or the first of
  /// complaints_about()
  static result<std::shared_ptr<const https_credentials>> load(const https_settings& s,
                                                               const https_credentials* before = nullptr);
  ~https_credentials();
  https_credentials(const https_credentials&) = delete;
  https_credentials& operator=(const https_credentials&) = delete;

  bool has_certificate() const { return has_certificate_; }
  bool verifies_clients() const { return verifies_clients_; }
  ssl_ctx_st* context() const { return context_; }

private:
  https_credentials() = default;

  bool has_certificate_ = false, verifies_clients_ = false;
  ssl_ctx_st* context_ = nullptr;
};
using https_credentials_ptr = std::shared_ptr<const https_credentials>;

} // namespace belay::tls
