#pragma once
// What a server presents to peers and requires of them: certificates, pre-shared keys, or nothing.
// Files are read once; a reload makes new ones, channels keep theirs. docs/operate/security.md has a table.

#include "actors/tls/peer_key.hpp"
#include "actors/tls/setting_complaint.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/result.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct ssl_ctx_st;

namespace belay::tls {

/// Consul's keys of the same names.
struct credential_settings {
  std::string ca_file, ca_path;        ///< PEM: a file, a folder of files
  std::string cert_file, key_file;     ///< PEM: the certificate followed by its chain, its private key
  std::vector<std::string> encrypt;    ///< base64; all are accepted, the first one is used to dial. Empty: none
  bool verify_incoming = false;        ///< only certificates are accepted
  bool verify_outgoing = false;        ///< only peers with certificates are dialled
  bool verify_server_hostname = false; ///< only peers whose certificates name server_name()
  bool encrypt_verify_incoming = true; ///< false: peers without the key are accepted, too
  bool encrypt_verify_outgoing = true; ///< false: peers are dialled without the key
  std::string datacenter = "dc1", domain = "consul";
};

/// Errors visible without opening a file: a setting that requires another one, an invalid key.
std::vector<setting_complaint> complaints_about(const credential_settings& s);

class credentials {
public:
  /// @returns a failure that names the key and the file, or the first of complaints_about()
  static result<std::shared_ptr<const credentials>> load(const credential_settings& s);
  /// The same with other keys; reads no file again. @returns a failure for an invalid key
  static result<std::shared_ptr<const credentials>> with_keys(const credentials& c,
                                                              const std::vector<std::string>& encrypt);
  ~credentials();
  credentials& operator=(const credentials&) = delete;

  /// `server.DATACENTER.DOMAIN`: a certificate with that name may be a Raft peer's.
  const std::string& server_name() const { return server_name_; }
  /// client.DATACENTER.DOMAIN: name in the certificates of client agents.
  const std::string& client_name() const { return client_name_; }

  bool dials_with_tls() const { return dials_with_certificate() || dials_with_key(); }
  bool dials_with_certificate() const { return verify_outgoing_; }
  bool dials_with_key() const { return !verify_outgoing_ && !keys_.empty() && key_outgoing_; }
  bool accepts_tls() const { return has_certificate_ || accepts_key(); }
  bool accepts_key() const { return !keys_.empty() && !verify_incoming_; }
  /// Whether a peer may connect without TLS.
  bool accepts_plaintext() const {
    return !verify_incoming_ && (keys_.empty() || !key_incoming_ || MUTANT(key_not_demanded));
  }
  bool has_certificate() const { return has_certificate_; } ///< and a CA
  bool verifies_server_name() const { return verify_server_name_; }

  const std::vector<peer_key>& keys() const { return keys_; }
  /// The key with that identity, or null.
  const peer_key* find_key(std::string_view identity) const;

  ssl_ctx_st* dialling() const { return dialling_; }
  ssl_ctx_st* accepting() const { return accepting_; }

private:
  credentials() = default;
  credentials(const credentials&) = default; ///< for with_keys(), which shares the contexts

  status take_keys(const std::vector<std::string>& encrypt);

  std::string server_name_, client_name_;
  std::vector<peer_key> keys_;
  bool verify_incoming_ = false, verify_outgoing_ = false, verify_server_name_ = false;
  bool key_incoming_ = true, key_outgoing_ = true;
  bool has_certificate_ = false;
  ssl_ctx_st* dialling_ = nullptr;
  ssl_ctx_st* accepting_ = nullptr;
};
using credentials_ptr = std::shared_ptr<const credentials>;

} // namespace belay::tls
