#include "actors/tls/https_credentials.hpp"

#include "actors/tls/context_files.hpp"
#include "actors/tls/openssl_handles.hpp"
#include "protocol/go_compat/syntax.hpp"

#include <algorithm>

namespace belay::tls {

namespace {

struct cipher_suite {
  std::string_view consul, openssl;
};

/// All that Consul 1.8.7 knows. OpenSSL has each, so no list leaves TLS 1.2 without a suite.
constexpr cipher_suite known_suites[] = {
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256"},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA"},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256"},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA"},
    {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA"},
};

constexpr char default_suites[] = "ECDHE+AESGCM:ECDHE+CHACHA20";
// The groups that today's clients offer first, with known cost: others take milliseconds.
constexpr char groups[] = "X25519:P-256:P-384";
// Bytes of a client's certificate chain.
constexpr long chain_bytes_max = 16 << 10;
// Lifetime of resumable sessions. A resumed session does not check the client's certificate again.
constexpr long session_seconds = 3600;
constexpr std::string_view http_1_1 = "http/1.1";

std::string_view openssl_name(std::string_view consul) {
  for (const auto& s : known_suites)
    if (s.consul == consul)
      return s.openssl;
  return {};
}

/// Without a certificate, clients get the alert that Go's servers, and so Consul, send.
/// Called for every client, with or without a server name.
int refuse_without_certificate(SSL*, int* alert, void*) {
  *alert = SSL_AD_UNRECOGNIZED_NAME;
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/// RFC 7301, section 3.2: a client that offers only other protocols gets no_application_protocol.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_length, const unsigned char* offered,
                    unsigned length, void*) {
  const std::string_view names(reinterpret_cast<const char*>(offered), length);
  for (std::size_t at = 0; at < names.size();) {
    const auto size = static_cast<unsigned char>(names[at]);
    const auto name = names.substr(at + 1, size);
    if (name == http_1_1) {
      *chosen = offered + at + 1;
      *chosen_length = size;
      return SSL_TLSEXT_ERR_OK;
    }
    at += 1 + std::size_t{size};
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

status choose_ciphers(SSL_CTX* context, const https_settings& s) {
  std::string list;
  for (const auto& name : s.cipher_suites) {
    list += list.empty() ? "" : ":";
    list += openssl_name(name);
  }
  if (SSL_CTX_set_cipher_list(context, list.empty() ? default_suites : list.c_str()) != 1)
    return failure{"tls_cipher_suites: OpenSSL has none of these suites: " + openssl_complaint()};
  if (s.prefer_server_cipher_suites)
    SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE);
  return done{};
}

/// SHA-256 of the requirements for clients: sessions are resumed only where they are the same.
status name_sessions(SSL_CTX* context, bool verifies_clients) {
  std::string demanded = verifies_clients ? "belay https, clients signed by " : "belay https";
  const auto* trusted = X509_STORE_get0_objects(SSL_CTX_get_cert_store(context));
  std::vector<std::string> authorities;
  for (int i = 0; verifies_clients && i < sk_X509_OBJECT_num(trusted); ++i) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    auto* authority = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(trusted, i));
    if (authority != nullptr && X509_digest(authority, EVP_sha256(), digest, &size) == 1)
      authorities.emplace_back(reinterpret_cast<const char*>(digest), size);
  }
  std::sort(authorities.begin(), authorities.end());
  for (const auto& a : authorities)
    demanded += a;
  unsigned char name[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (EVP_Digest(demanded.data(), demanded.size(), name, &size, EVP_sha256(), nullptr) != 1 ||
      SSL_CTX_set_session_id_context(context, name, size) != 1)
    return failure{"OpenSSL cannot name sessions: " + openssl_complaint()};
  return done{};
}

/// Lets clients with several certificates choose the right one.
void name_authorities(SSL_CTX* context) {
  const auto* trusted = X509_STORE_get0_objects(SSL_CTX_get_cert_store(context));
  for (int i = 0; i < sk_X509_OBJECT_num(trusted); ++i)
    if (auto* authority = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(trusted, i)); authority != nullptr)
      SSL_CTX_add_client_CA(context, authority);
}

void keep_ticket_keys(SSL_CTX* to, SSL_CTX* from) {
  unsigned char keys[256];
  const auto size = SSL_CTX_get_tlsext_ticket_keys(from, nullptr, 0);
  if (size > 0 && size <= static_cast<long>(sizeof keys) && SSL_CTX_get_tlsext_ticket_keys(from, keys, size) == 1)
    SSL_CTX_set_tlsext_ticket_keys(to, keys, size);
  OPENSSL_cleanse(keys, sizeof keys);
}

} // namespace

result<std::vector<std::string>> parse_cipher_suites(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  while (!text.empty() && blanks.find(text.front()) != blanks.npos)
    text.remove_prefix(1);
  while (!text.empty() && blanks.find(text.back()) != blanks.npos)
    text.remove_suffix(1);
  std::vector<std::string> names;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const auto name = text.substr(0, comma);
    if (openssl_name(name).empty())
      return failure{"unsupported cipher " + go_compat::quoted(name)};
    names.emplace_back(name);
    if (comma != text.npos && comma + 1 == text.size())
      return failure{"unsupported cipher \"\""};
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
  }
  return names;
}

std::vector<setting_complaint> complaints_about(const https_settings& s) {
  std::vector<setting_complaint> found;
  const auto& least = s.tls_min_version;
  if (!least.empty() && least != "tls10" && least != "tls11" && least != "tls12")
    found.push_back({"tls_min_version",
                     "TLSMinVersion: value " + least + " not supported, please specify one of [tls10,tls11,tls12]"});
  if (s.verify_incoming && s.ca_file.empty() && s.ca_path.empty())
    found.push_back(
        {"verify_incoming_https", "VerifyIncoming set, and no CA certificate provided!", {"ca_file", "ca_path"}});
  if (s.verify_incoming && (s.cert_file.empty() || s.key_file.empty()))
    found.push_back(
        {"verify_incoming_https", "VerifyIncoming set, and no Cert/Key pair provided!", {"cert_file", "key_file"}});
  return found;
}

result<std::shared_ptr<const https_credentials>> https_credentials::load(const https_settings& s,
                                                                         const https_credentials* before) {
  if (auto complaints = complaints_about(s); !complaints.empty())
    return failure{std::move(complaints.front().text)};
  std::shared_ptr<https_credentials> c(new https_credentials);
  auto* const context = c->context_ = SSL_CTX_new(TLS_server_method());
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
      SSL_CTX_set1_groups_list(context, groups) != 1)
    return failure{"TLS 1.2 is not available: " + openssl_complaint()};
  if (auto ok = choose_ciphers(context, s); !ok)
    return ok.reason();
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_max_cert_list(context, chain_bytes_max);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  // The clients keep sessions, in tickets.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_timeout(context, session_seconds);
  if (before != nullptr)
    keep_ticket_keys(context, before->context());

  if (auto ok = trust_authorities(context, s.ca_file, s.ca_path); !ok)
    return ok.reason();
  c->verifies_clients_ = s.verify_incoming;
  if (s.verify_incoming)
    name_authorities(context);
  if (auto ok = name_sessions(context, s.verify_incoming); !ok)
    return ok.reason();
  c->has_certificate_ = !s.cert_file.empty() && !s.key_file.empty();
  if (c->has_certificate_)
    if (auto ok = show_certificate(context, s.cert_file, s.key_file); !ok)
      return ok.reason();
  if (!c->has_certificate_)
    SSL_CTX_set_tlsext_servername_callback(context, refuse_without_certificate);
  return std::shared_ptr<const https_credentials>(std::move(c));
}

https_credentials::~https_credentials() {
  SSL_CTX_free(context_);
}

} // namespace belay::tls
