#include "actors/tls/credentials.hpp"

#include "actors/tls/openssl_handles.hpp"

#include <openssl/pem.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

namespace belay::tls {

namespace {

/// The first is the hash of the pre-shared keys, too (peer_key.hpp); AES in hardware makes it the cheapest.
constexpr char cipher_suites[] = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr unsigned char context_name[] = "belay peer";

failure cannot_read(std::string_view key, const std::string& path) {
  const int why = errno;
  return {std::string(key) + ": open " + path + ": " +
          (why == ENOENT   ? "no such file or directory"
           : why == EACCES ? "permission denied"
                           : std::strerror(why))};
}

/// All certificates of a file, in their order; at least one.
result<std::vector<certificate_ptr>> certificates_of(std::string_view key, const std::string& path) {
  ERR_clear_error();
  errno = 0;
  const bio_ptr in(BIO_new_file(path.c_str(), "r"));
  if (!in) {
    auto f = cannot_read(key, path);
    ERR_clear_error();
    return f;
  }
  std::vector<certificate_ptr> found;
  while (X509* one = PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr))
    found.emplace_back(one);
  const auto last = ERR_peek_last_error();
  const bool at_end = ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  const auto complaint = openssl_complaint();
  if (found.empty() || !at_end)
    return failure{std::string(key) + ": " + path +
                   (at_end ? " holds no certificate in PEM" : " holds a damaged certificate: " + complaint)};
  return found;
}

status trust(X509_STORE* store, std::string_view key, const std::string& path) {
  auto found = certificates_of(key, path);
  if (!found)
    return found.why();
  for (const auto& c : *found)
    if (X509_STORE_add_cert(store, c.get()) != 1)
      return failure{std::string(key) + ": " + path + ": " + openssl_complaint()};
  return done{};
}

/// As Consul: each file of the folder, whatever its name.
status trust_folder(X509_STORE* store, const std::string& path) {
  std::error_code ec;
  std::size_t files = 0;
  for (std::filesystem::directory_iterator it(path, ec), end; !ec && it != end; it.increment(ec)) {
    std::error_code ignored;
    if (it->is_directory(ignored))
      continue;
    if (auto s = trust(store, "ca_path", it->path().string()); !s)
      return s;
    ++files;
  }
  if (ec)
    return failure{"ca_path: open " + path + ": " + ec.message()};
  if (files == 0)
    return failure{"ca_path: " + path + " holds no files"};
  return done{};
}

status show_certificate(SSL_CTX* context, const credential_settings& s) {
  auto chain = certificates_of("cert_file", s.cert_file);
  if (!chain)
    return chain.why();
  if (SSL_CTX_use_certificate(context, chain->front().get()) != 1)
    return failure{"cert_file: " + s.cert_file + ": " + openssl_complaint()};
  for (std::size_t i = 1; i < chain->size(); ++i)
    if (SSL_CTX_add1_chain_cert(context, (*chain)[i].get()) != 1)
      return failure{"cert_file: " + s.cert_file + ": " + openssl_complaint()};
  errno = 0;
  const bio_ptr in(BIO_new_file(s.key_file.c_str(), "r"));
  if (!in) {
    auto f = cannot_read("key_file", s.key_file);
    ERR_clear_error();
    return f;
  }
  // A pass phrase has nobody who could give it: the answer is none.
  const auto no_phrase = [](char*, int, int, void*) { return -1; };
  const key_ptr key(PEM_read_bio_PrivateKey(in.get(), nullptr, no_phrase, nullptr));
  if (!key)
    return failure{"key_file: " + s.key_file +
                   " holds no private key in PEM without a pass phrase: " + openssl_complaint()};
  if (X509_check_private_key(chain->front().get(), key.get()) != 1) {
    ERR_clear_error();
    return failure{"key_file: " + s.key_file + " does not belong to the certificate in " + s.cert_file};
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1)
    return failure{"key_file: " + s.key_file + ": " + openssl_complaint()};
  return done{};
}

result<context_ptr> context_for(const SSL_METHOD* method) {
  context_ptr c(SSL_CTX_new(method));
  if (!c || SSL_CTX_set_min_proto_version(c.get(), TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(c.get(), TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(c.get(), cipher_suites) != 1)
    return failure{"TLS 1.3 is not there: " + openssl_complaint()};
  // Connections of peers live for days; a ticket would only be bytes that nobody reads.
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
    found.push_back({outgoing, "VerifyOutgoing set, and no CA certificate provided!"});
  if (s.verify_incoming && !ca)
    found.push_back({"verify_incoming", "VerifyIncoming set, and no CA certificate provided!"});
  if (s.verify_incoming && !pair)
    found.push_back({"verify_incoming", "VerifyIncoming set, and no Cert/Key pair provided!"});
  if (!outgoing.empty() && !pair)
    found.push_back(
        {outgoing,
         "VerifyOutgoing set, and no Cert/Key pair provided! Peers ask for a certificate: set cert_file and key_file"});
  if (!s.verify_incoming && outgoing.empty() && s.cert_file.empty() != s.key_file.empty())
    found.push_back(s.cert_file.empty() ? setting_complaint{"key_file", "key_file is set, and cert_file is not"}
                                        : setting_complaint{"cert_file", "cert_file is set, and key_file is not"});
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
  c->verify_incoming_ = s.verify_incoming;
  c->verify_outgoing_ = s.verify_outgoing || s.verify_server_hostname;
  c->verify_server_name_ = s.verify_server_hostname;
  c->key_incoming_ = s.encrypt_verify_incoming;
  c->key_outgoing_ = s.encrypt_verify_outgoing;
  for (const auto& text : s.encrypt) {
    auto key = derive_peer_key(text);
    if (!key)
      return key.why();
    c->keys_.push_back(std::move(*key));
  }
  const bool ca = !s.ca_file.empty() || !s.ca_path.empty();
  c->has_certificate_ = ca && !s.cert_file.empty();
  for (auto [method, kept] : {std::pair{TLS_client_method(), &c->dialling_}, {TLS_server_method(), &c->accepting_}}) {
    auto made = context_for(method);
    if (!made)
      return made.why();
    SSL_CTX* const context = *kept = made->release();
    // OpenSSL wants one from those who ask for certificates and take pre-shared keys.
    if (method == TLS_server_method())
      SSL_CTX_set_session_id_context(context, context_name, sizeof context_name - 1);
    auto* store = SSL_CTX_get_cert_store(context);
    if (!s.ca_file.empty())
      if (auto ok = trust(store, "ca_file", s.ca_file); !ok)
        return ok.why();
    if (!s.ca_path.empty())
      if (auto ok = trust_folder(store, s.ca_path); !ok)
        return ok.why();
    if (!s.cert_file.empty())
      if (auto ok = show_certificate(context, s); !ok)
        return ok.why();
  }
  return std::shared_ptr<const credentials>(std::move(c));
}

result<std::shared_ptr<const credentials>> credentials::with_keys(const credentials& other,
                                                                  const std::vector<std::string>& encrypt) {
  std::shared_ptr<credentials> c(new credentials(other));
  SSL_CTX_up_ref(c->dialling_);
  SSL_CTX_up_ref(c->accepting_);
  c->keys_.clear();
  for (const auto& text : encrypt) {
    auto key = derive_peer_key(text);
    if (!key)
      return key.why();
    c->keys_.push_back(std::move(*key));
  }
  return std::shared_ptr<const credentials>(std::move(c));
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
