#include "actors/tls/context_files.hpp"

#include "actors/tls/openssl_handles.hpp"

#include <openssl/pem.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace belay::tls {

namespace {

/// The text of an error in Go's words.
std::string reason(int why) {
  std::string text = std::strerror(why);
  text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

/// By errno; OpenSSL's own errors are dropped.
failure cannot_read(std::string_view key, const std::string& path) {
  const int why = errno;
  ERR_clear_error();
  return {std::string(key) + ": " + (why == EISDIR ? "read " : "open ") + path + ": " + reason(why)};
}

/// All certificates of a file, in order; at least one.
result<std::vector<certificate_ptr>> certificates_of(std::string_view key, const std::string& path) {
  ERR_clear_error();
  errno = 0;
  const bio_ptr in(BIO_new_file(path.c_str(), "r"));
  if (!in)
    return cannot_read(key, path);
  std::vector<certificate_ptr> found;
  while (X509* one = PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr))
    found.emplace_back(one);
  if (found.empty() && errno == EISDIR) // a folder can be opened, but not read
    return cannot_read(key, path);
  const auto last = ERR_peek_last_error();
  const bool at_end = ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  const auto complaint = openssl_complaint();
  if (found.empty() || !at_end)
    return failure{std::string(key) + ": " + path +
                   (at_end ? " has no certificate in PEM" : " has a damaged certificate: " + complaint)};
  return found;
}

status trust(X509_STORE* store, std::string_view key, const std::string& path) {
  auto found = certificates_of(key, path);
  if (!found)
    return found.reason();
  for (const auto& c : *found)
    if (X509_STORE_add_cert(store, c.get()) != 1)
      return failure{std::string(key) + ": " + path + ": " + openssl_complaint()};
  return done{};
}

/// As in Consul: every file of the folder, whatever its name.
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
    return failure{"ca_path: open " + path + ": " + reason(ec.value())};
  if (files == 0)
    return failure{"ca_path: " + path + " has no files"};
  return done{};
}

} // namespace

status trust_authorities(SSL_CTX* context, const std::string& ca_file, const std::string& ca_path) {
  auto* store = SSL_CTX_get_cert_store(context);
  if (!ca_file.empty())
    if (auto ok = trust(store, "ca_file", ca_file); !ok)
      return ok;
  if (!ca_path.empty())
    return trust_folder(store, ca_path);
  return done{};
}

status show_certificate(SSL_CTX* context, const std::string& cert_file, const std::string& key_file) {
  auto chain = certificates_of("cert_file", cert_file);
  if (!chain)
    return chain.reason();
  if (SSL_CTX_use_certificate(context, chain->front().get()) != 1)
    return failure{"cert_file: " + cert_file + ": " + openssl_complaint()};
  for (std::size_t i = 1; i < chain->size(); ++i)
    if (SSL_CTX_add1_chain_cert(context, (*chain)[i].get()) != 1)
      return failure{"cert_file: " + cert_file + ": " + openssl_complaint()};
  errno = 0;
  const bio_ptr in(BIO_new_file(key_file.c_str(), "r"));
  if (!in)
    return cannot_read("key_file", key_file);
  // No pass phrase is available: answer with none.
  const auto no_phrase = [](char*, int, int, void*) { return -1; };
  const key_ptr key(PEM_read_bio_PrivateKey(in.get(), nullptr, no_phrase, nullptr));
  if (!key)
    return failure{"key_file: " + key_file +
                   " has no private key in PEM without a pass phrase: " + openssl_complaint()};
  if (X509_check_private_key(chain->front().get(), key.get()) != 1) {
    ERR_clear_error();
    return failure{"key_file: " + key_file + " does not belong to the certificate in " + cert_file};
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1)
    return failure{"key_file: " + key_file + ": " + openssl_complaint()};
  return done{};
}

status share_certificates(SSL_CTX* from, SSL_CTX* to) {
  SSL_CTX_set1_cert_store(to, SSL_CTX_get_cert_store(from));
  X509* const certificate = SSL_CTX_get0_certificate(from);
  if (certificate == nullptr)
    return done{};
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(from, &chain);
  if (SSL_CTX_use_certificate(to, certificate) != 1 || SSL_CTX_set1_chain(to, chain) != 1 ||
      SSL_CTX_use_PrivateKey(to, SSL_CTX_get0_privatekey(from)) != 1)
    return failure{"the certificate cannot be used: " + openssl_complaint()};
  return done{};
}

std::vector<setting_complaint> complaints_about_files(const std::string& ca_file, const std::string& ca_path,
                                                      const std::string& cert_file, const std::string& key_file) {
  std::vector<setting_complaint> found;
  const context_ptr context(SSL_CTX_new(TLS_method()));
  if (!context)
    return {{"", "TLS is not available: " + openssl_complaint()}};
  const auto note = [&found](const status& s) {
    if (s)
      return;
    for (std::string_view key : {"ca_file", "ca_path", "cert_file", "key_file"})
      if (s.error().starts_with(std::string(key) + ":"))
        found.push_back({key, s.error()});
  };
  note(trust_authorities(context.get(), ca_file, {}));
  note(trust_authorities(context.get(), {}, ca_path));
  if (!cert_file.empty() && !key_file.empty())
    note(show_certificate(context.get(), cert_file, key_file));
  return found;
}

} // namespace belay::tls
