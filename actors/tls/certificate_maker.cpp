#include "actors/tls/certificate_maker.hpp"

#include "actors/tls/openssl_handles.hpp"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <arpa/inet.h>

namespace belay::tls {

namespace {

failure openssl_failed(std::string_view what) {
  return {std::string(what) + ": " + openssl_complaint()};
}

std::string pem_of(X509* certificate) {
  const bio_ptr out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(out.get(), certificate);
  return text_of(out.get());
}

/// A key in Go's format, `EC PRIVATE KEY`.
std::string pem_of(EVP_PKEY* key) {
  const bio_ptr out(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey_traditional(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return text_of(out.get());
}

bool add(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  auto* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  if (extension == nullptr)
    return false;
  const bool added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

/// A certificate with a random serial number of 127 bits and its name; no extensions, no signature.
certificate_ptr begin_certificate(const std::string& common_name, EVP_PKEY* key, const validity& when) {
  certificate_ptr c(X509_new());
  unsigned char serial[16];
  if (!c || RAND_bytes(serial, sizeof serial) != 1)
    return nullptr;
  serial[0] &= 0x7f;
  serial[0] |= 0x40; // always of the same length
  BIGNUM* number = BN_bin2bn(serial, sizeof serial, nullptr);
  const bool numbered = number != nullptr && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(c.get())) != nullptr;
  BN_free(number);
  auto* name = X509_get_subject_name(c.get());
  const bool ok =
      numbered && X509_set_version(c.get(), X509_VERSION_3) == 1 &&
      X509_gmtime_adj(X509_getm_notBefore(c.get()), static_cast<long>(when.begin.count())) != nullptr &&
      X509_gmtime_adj(X509_getm_notAfter(c.get()), static_cast<long>(when.end.count())) != nullptr &&
      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(common_name.data()),
                                 static_cast<int>(common_name.size()), -1, 0) == 1 &&
      X509_set_pubkey(c.get(), key) == 1;
  return ok ? std::move(c) : nullptr;
}

bool is_numeric_address(const std::string& text) {
  in6_addr any{};
  return inet_pton(AF_INET, text.c_str(), &any) == 1 || inet_pton(AF_INET6, text.c_str(), &any) == 1;
}

/// Whether a name is safe in an extension, whose syntax separates by commas.
bool is_plain_name(const std::string& text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_*") ==
             std::string::npos;
}

} // namespace

result<certificate_and_key> make_authority(const std::string& common_name, validity when,
                                           const std::vector<std::string>& permitted) {
  ERR_clear_error();
  const key_ptr key(EVP_EC_gen("P-256"));
  if (!key)
    return openssl_failed("cannot create a P-256 key");
  const auto c = begin_certificate(common_name, key.get(), when);
  if (!c || X509_set_issuer_name(c.get(), X509_get_subject_name(c.get())) != 1)
    return openssl_failed("cannot create a certificate");
  std::string names;
  for (const auto& domain : permitted) {
    if (!is_plain_name(domain))
      return failure{"not a domain: " + domain};
    names += (names.empty() ? "critical,permitted;DNS:" : ",permitted;DNS:") + domain;
  }
  const bool ok = add(c.get(), c.get(), NID_basic_constraints, "critical,CA:TRUE") &&
                  add(c.get(), c.get(), NID_key_usage, "critical,digitalSignature,keyCertSign,cRLSign") &&
                  add(c.get(), c.get(), NID_subject_key_identifier, "hash") &&
                  add(c.get(), c.get(), NID_authority_key_identifier, "keyid:always") &&
                  (names.empty() || add(c.get(), c.get(), NID_name_constraints, names));
  if (!ok || X509_sign(c.get(), key.get(), EVP_sha256()) == 0)
    return openssl_failed("certificate cannot be signed");
  return certificate_and_key{pem_of(c.get()), pem_of(key.get())};
}

result<certificate_and_key> make_certificate(const certificate_and_key& authority, const certificate_request& wanted) {
  ERR_clear_error();
  const bio_ptr issuer_pem(
      BIO_new_mem_buf(authority.certificate.data(), static_cast<int>(authority.certificate.size())));
  const bio_ptr key_pem(BIO_new_mem_buf(authority.key.data(), static_cast<int>(authority.key.size())));
  const certificate_ptr issuer(PEM_read_bio_X509(issuer_pem.get(), nullptr, nullptr, nullptr));
  if (!issuer)
    return openssl_failed("the CA is not a certificate in PEM");
  const key_ptr issuer_key(PEM_read_bio_PrivateKey(key_pem.get(), nullptr, nullptr, nullptr));
  if (!issuer_key)
    return openssl_failed("the key of the CA is not a key in PEM");
  if (X509_check_private_key(issuer.get(), issuer_key.get()) != 1) {
    ERR_clear_error();
    return failure{"the key does not belong to the CA"};
  }
  const key_ptr key(EVP_EC_gen("P-256"));
  if (!key)
    return openssl_failed("cannot create a P-256 key");
  const auto c = begin_certificate(wanted.common_name, key.get(), wanted.when);
  if (!c || X509_set_issuer_name(c.get(), X509_get_subject_name(issuer.get())) != 1)
    return openssl_failed("cannot create a certificate");
  std::string names;
  for (const auto& name : wanted.dns_names) {
    if (!is_plain_name(name))
      return failure{"not a DNS name: " + name};
    names += (names.empty() ? "DNS:" : ",DNS:") + name;
  }
  for (const auto& address : wanted.addresses) {
    if (!is_numeric_address(address))
      return failure{"not an IP address: " + address};
    names += (names.empty() ? "IP:" : ",IP:") + address;
  }
  const bool ok = add(c.get(), issuer.get(), NID_basic_constraints, "critical,CA:FALSE") &&
                  add(c.get(), issuer.get(), NID_key_usage, "critical,digitalSignature,keyEncipherment") &&
                  (!wanted.for_connections || add(c.get(), issuer.get(), NID_ext_key_usage, "serverAuth,clientAuth")) &&
                  add(c.get(), issuer.get(), NID_subject_key_identifier, "hash") &&
                  add(c.get(), issuer.get(), NID_authority_key_identifier, "keyid") &&
                  (names.empty() || add(c.get(), issuer.get(), NID_subject_alt_name, names));
  if (!ok || X509_sign(c.get(), issuer_key.get(), EVP_sha256()) == 0)
    return openssl_failed("certificate cannot be signed");
  return certificate_and_key{pem_of(c.get()), pem_of(key.get())};
}

} // namespace belay::tls
