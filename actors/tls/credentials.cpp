#include "actors/tls/credentials.hpp"

#include "actors/tls/context_files.hpp"
#include "actors/tls/openssl_handles.hpp"

namespace belay::tls {

namespace {

/// The first suite has the hash of pre-shared keys (peer_key.hpp) and is the cheapest one on
/// machines with AES instructions.
constexpr char cipher_suites[] = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr unsigned char context_name[] = "belay peer";

result<context_ptr> context_for(const SSL_METHOD* method) {
  context_ptr c(SSL_CTX_new(method));
  if (!c || SSL_CTX_set_min_proto_version(c.get(), TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(c.get(), TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(c.get(), cipher_suites) != 1)
    return failure{"TLS 1.3 is not available: " + openssl_complaint()};
  // Connections of peers live for days; tickets would never be used.
  SSL_CTX_set_session_cache_mode(c.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(c.get(), SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_num_tickets(c.get(), 0);
  SSL_CTX_set_mode(c.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_max_cert_list(c.get(), 16 << 10);
  return c;
}

} // namespace

std::vector<setting_complaint> complaints_about(const credential_settings& s) {
  std::vector<setting_complaint> found;
  const bool ca = !s.ca_file.empty() || !s.ca_path.empty();
  const bool pair = !s.cert_file.empty() && !s.key_file.empty();
  const std::string_view outgoing = s.verify_outgoing          ? "verify_outgoing"
                                    : s.verify_server_hostname ? "verify_server_hostname"
                                                               : "";
  if (!outgoing.empty() && !ca)
    found.push_back({outgoing, "VerifyOutgoing set, and no CA certificate provided!", {"ca_file", "ca_path"}});
  if (s.verify_incoming && !ca)
    found.push_back({"verify_incoming", "VerifyIncoming set, and no CA certificate provided!", {"ca_file", "ca_path"}});
  if (s.verify_incoming && !pair)
    found.push_back(
        {"verify_incoming", "VerifyIncoming set, and no Cert/Key pair provided!", {"cert_file", "key_file"}});
  if (!outgoing.empty() && !pair)
    found.push_back(
        {outgoing,
         "VerifyOutgoing set, and no Cert/Key pair provided! Peers require a certificate: set cert_file and key_file",
         {"cert_file", "key_file"}});
  if (!s.verify_incoming && outgoing.empty() && s.cert_file.empty() != s.key_file.empty())
    found.push_back(s.cert_file.empty()
                        ? setting_complaint{"key_file", "key_file is set without cert_file", {"cert_file"}}
                        : setting_complaint{"cert_file", "cert_file is set without key_file", {"key_file"}});
  for (const auto& key : s.encrypt)
    if (auto k = derive_peer_key(key); !k)
      found.push_back({"encrypt", k.error()});
  return found;
}

result<std::shared_ptr<const credentials>> credentials::load(const credential_settings& s) {
  if (auto complaints = complaints_about(s); !complaints.empty())
    return failure{std::move(complaints.front().text)};
  std::shared_ptr<credentials> c(new credentials);
  c->server_name_ = "server." + s.datacenter + "." + s.domain;
  c->client_name_ = "client." + s.datacenter + "." + s.domain;
  c->verify_incoming_ = s.verify_incoming;
  c->verify_outgoing_ = s.verify_outgoing || s.verify_server_hostname;
  c->verify_server_name_ = s.verify_server_hostname;
  c->key_incoming_ = s.encrypt_verify_incoming;
  c->key_outgoing_ = s.encrypt_verify_outgoing;
  if (auto ok = c->take_keys(s.encrypt); !ok)
    return ok.reason();
  const bool ca = !s.ca_file.empty() || !s.ca_path.empty();
  c->has_certificate_ = ca && !s.cert_file.empty();
  for (auto [method, kept] : {std::pair{TLS_client_method(), &c->dialling_}, {TLS_server_method(), &c->accepting_}}) {
    auto made = context_for(method);
    if (!made)
      return made.reason();
    *kept = made->release();
  }
  // OpenSSL requires one on a side that requests certificates and accepts pre-shared keys.
  SSL_CTX_set_session_id_context(c->accepting_, context_name, sizeof context_name - 1);
  if (auto ok = trust_authorities(c->dialling_, s.ca_file, s.ca_path); !ok)
    return ok.reason();
  if (!s.cert_file.empty())
    if (auto ok = show_certificate(c->dialling_, s.cert_file, s.key_file); !ok)
      return ok.reason();
  if (auto ok = share_certificates(c->dialling_, c->accepting_); !ok)
    return ok.reason();
  return std::shared_ptr<const credentials>(std::move(c));
}

result<std::shared_ptr<const credentials>> credentials::with_keys(const credentials& other,
                                                                  const std::vector<std::string>& encrypt) {
  std::shared_ptr<credentials> c(new credentials(other));
  SSL_CTX_up_ref(c->dialling_);
  SSL_CTX_up_ref(c->accepting_);
  if (auto ok = c->take_keys(encrypt); !ok)
    return ok.reason();
  return std::shared_ptr<const credentials>(std::move(c));
}

status credentials::take_keys(const std::vector<std::string>& encrypt) {
  keys_.clear();
  for (const auto& text : encrypt) {
    auto key = derive_peer_key(text);
    if (!key)
      return key.reason();
    keys_.push_back(std::move(*key));
  }
  return done{};
}

credentials::~credentials() {
  SSL_CTX_free(dialling_);
  SSL_CTX_free(accepting_);
}

const peer_key* credentials::find_key(std::string_view identity) const {
  for (const auto& k : keys_)
    if (k.identity == identity)
      return &k;
  return nullptr;
}

} // namespace belay::tls
