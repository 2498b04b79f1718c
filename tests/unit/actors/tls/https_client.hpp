#pragma once
// The client's end of HTTPS without a socket: OpenSSL as curl and browsers use it.

#include "actors/tls/certificate_texts.hpp"
#include "actors/tls/https_channel.hpp"
#include "actors/tls/openssl_handles.hpp"

#include <openssl/pem.h>

#include <catch2/catch.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace belay::tls {

struct https_client_settings {
  std::string ca_file; ///< empty: any server is accepted
  std::string cert_file = {}, key_file = {};
  std::string name = "localhost";
  int version = TLS1_3_VERSION; ///< the only one that is offered
  std::string alpn = {};        ///< in wire format
  std::string ciphers = {};     ///< cipher suites of TLS 1.2
};

class https_client {
public:
  explicit https_client(const https_client_settings& s, SSL_SESSION* session = nullptr)
      : context_(SSL_CTX_new(TLS_client_method())) {
    auto* c = context_.get();
    REQUIRE(SSL_CTX_set_min_proto_version(c, s.version) == 1);
    REQUIRE(SSL_CTX_set_max_proto_version(c, s.version) == 1);
    if (s.version < TLS1_2_VERSION)
      SSL_CTX_set_security_level(c, 0);
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(c, [](SSL* ssl, SSL_SESSION* fresh) {
      static_cast<https_client*>(SSL_get_app_data(ssl))->session_.reset(fresh);
      return 1;
    });
    if (!s.ca_file.empty()) {
      REQUIRE(SSL_CTX_load_verify_locations(c, s.ca_file.c_str(), nullptr) == 1);
      SSL_CTX_set_verify(c, SSL_VERIFY_PEER, nullptr);
    }
    if (!s.cert_file.empty()) {
      REQUIRE(SSL_CTX_use_certificate_chain_file(c, s.cert_file.c_str()) == 1);
      REQUIRE(SSL_CTX_use_PrivateKey_file(c, s.key_file.c_str(), SSL_FILETYPE_PEM) == 1);
    }
    if (!s.alpn.empty())
      REQUIRE(SSL_CTX_set_alpn_protos(c, reinterpret_cast<const unsigned char*>(s.alpn.data()),
                                      static_cast<unsigned>(s.alpn.size())) == 0);
    if (!s.ciphers.empty())
      REQUIRE(SSL_CTX_set_cipher_list(c, s.ciphers.c_str()) == 1);
    ssl_.reset(SSL_new(c));
    REQUIRE(ssl_ != nullptr);
    auto* in = BIO_new(BIO_s_mem());
    auto* out = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(in, -1);
    BIO_set_mem_eof_return(out, -1);
    SSL_set_bio(ssl_.get(), in, out);
    SSL_set_app_data(ssl_.get(), this);
    SSL_set_tlsext_host_name(ssl_.get(), s.name.c_str());
    SSL_set1_host(ssl_.get(), s.name.c_str());
    if (session != nullptr)
      REQUIRE(SSL_set_session(ssl_.get(), session) == 1);
    SSL_set_connect_state(ssl_.get());
    step();
  }
  https_client(const https_client&) = delete;
  https_client& operator=(const https_client&) = delete;

  /// Feeds bytes from the server; appends decrypted ones to `response`. @returns false: it broke
  bool feed(std::string_view wire, std::string& response) {
    if (!wire.empty())
      BIO_write(SSL_get_rbio(ssl_.get()), wire.data(), static_cast<int>(wire.size()));
    if (!established_ && !step())
      return false;
    char bytes[16384];
    while (established_) {
      ERR_clear_error();
      const int n = SSL_read(ssl_.get(), bytes, sizeof bytes);
      if (n <= 0)
        return outcome_of(n);
      response.append(bytes, static_cast<std::size_t>(n));
    }
    return true;
  }
  void write(std::string_view plaintext) {
    REQUIRE(SSL_write(ssl_.get(), plaintext.data(), static_cast<int>(plaintext.size())) ==
            static_cast<int>(plaintext.size()));
  }
  void end() { SSL_shutdown(ssl_.get()); }
  std::string take_output() {
    auto* bio = SSL_get_wbio(ssl_.get());
    std::string out(BIO_ctrl_pending(bio), '\0');
    if (!out.empty())
      REQUIRE(BIO_read(bio, out.data(), static_cast<int>(out.size())) == static_cast<int>(out.size()));
    return out;
  }

  bool established() const { return established_; }
  bool ended_by_server() const { return ended_; }
  bool resumed() const { return SSL_session_reused(ssl_.get()) == 1; }
  const std::string& complaint() const { return complaint_; }
  session_ptr take_session() { return std::move(session_); }
  std::string protocol() const {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }
  std::string server_name() const {
    auto* c = SSL_get0_peer_certificate(ssl_.get());
    return c != nullptr ? name_of(c) : "";
  }
  /// Requests new keys from the server; any number of times.
  void change_keys() {
    REQUIRE(SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_REQUESTED) == 1);
    REQUIRE(SSL_do_handshake(ssl_.get()) == 1);
  }
  SSL* ssl() { return ssl_.get(); }

private:
  bool step() {
    ERR_clear_error();
    const int r = SSL_do_handshake(ssl_.get());
    established_ = r == 1;
    return established_ || outcome_of(r);
  }
  bool outcome_of(int r) {
    switch (SSL_get_error(ssl_.get(), r)) {
    case SSL_ERROR_WANT_READ:
      return true;
    case SSL_ERROR_ZERO_RETURN:
      ended_ = true;
      return true;
    default:
      complaint_ = openssl_complaint();
      return false;
    }
  }

  context_ptr context_;
  session_ptr session_;
  ssl_ptr ssl_;
  bool established_ = false, ended_ = false;
  std::string complaint_;
};

} // namespace belay::tls
