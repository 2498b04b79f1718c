#include "actors/tls/https_channel.hpp"

#include "actors/tls/certificate_texts.hpp"
#include "actors/tls/openssl_handles.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

namespace belay::tls {

namespace {

using bio_method_ptr = std::unique_ptr<BIO_METHOD, openssl_free<BIO_meth_free>>;

// Size of a TLS record.
constexpr std::size_t record_bytes = 16u << 10;

/// Errors of other code on this thread would be taken for errors of this connection. Clearing costs
/// more than a check.
void forget_errors() {
  if (ERR_peek_error() != 0)
    ERR_clear_error();
}

// The response of Go's server, which Consul uses.
constexpr std::string_view plain_http_answer =
    "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
// The methods that Go recognizes, and DELETE, which this API also has. Each text is as long as the
// header of a TLS record.
constexpr std::array<std::string_view, 6> plain_http_beginnings = {"GET /", "HEAD ", "POST ",
                                                                   "PUT /", "OPTIO", "DELET"};
constexpr std::size_t header_bytes = 5;

constexpr char no_certificate[] = "no certificates configured: set cert_file and key_file";

} // namespace

struct https_channel::state {
  https_credentials_ptr mine;
  ssl_ptr ssl;
  std::string first;       ///< bytes too few to show whether they are TLS
  std::string_view source; ///< bytes of the wire, not consumed yet; within feed() only
  std::string output;
  std::optional<failure> broken;
  std::size_t handshake_bytes = 0;
  int late_messages = 0;
  bool is_tls = false, established = false, ended_by_client = false;
  certificate_refusal refused_certificate;

  // ---- input and output of OpenSSL: no copy on the way in, one on the way out

  static int read_bytes(BIO* bio, char* to, std::size_t size, std::size_t* got) {
    BIO_clear_retry_flags(bio);
    auto& source = static_cast<state*>(BIO_get_data(bio))->source;
    *got = std::min(size, source.size());
    if (*got == 0) {
      BIO_set_retry_read(bio); // empty is not the end: more may arrive
      return 0;
    }
    std::memcpy(to, source.data(), *got);
    source.remove_prefix(*got);
    return 1;
  }
  static int write_bytes(BIO* bio, const char* from, std::size_t size, std::size_t* put) {
    BIO_clear_retry_flags(bio);
    static_cast<state*>(BIO_get_data(bio))->output.append(from, size);
    *put = size;
    return 1;
  }
  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  static BIO_METHOD* bytes_method() {
    static const bio_method_ptr method = [] {
      bio_method_ptr m(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "belay bytes"));
      INVARIANT(m != nullptr);
      BIO_meth_set_read_ex(m.get(), read_bytes);
      BIO_meth_set_write_ex(m.get(), write_bytes);
      BIO_meth_set_ctrl(m.get(), control);
      return m;
    }();
    return method.get();
  }

  // ---- callbacks of OpenSSL

  static state* of(const SSL* ssl) { return static_cast<state*>(SSL_get_app_data(ssl)); }

  static int check_certificate(int good, X509_STORE_CTX* store) {
    auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto* self = of(ssl);
    if (good == 0)
      self->refused_certificate.note(store);
    return good;
  }

  static void message_passed(int written, int, int kind, const void*, std::size_t, SSL* ssl, void*) {
    auto* self = of(ssl);
    if (written == 0 && kind == SSL3_RT_HANDSHAKE && self->established && ++self->late_messages > late_messages_max)
      self->source = {}; // OpenSSL would process all input before the next check
  }

  // ---- texts

  /// What an error of OpenSSL means for operators.
  std::string complaint(unsigned long error) const {
    if (refused_certificate)
      return refused_certificate.text("client");
    switch (ERR_GET_LIB(error) == ERR_LIB_SSL ? ERR_GET_REASON(error) : 0) {
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return "client has no certificate, and verify_incoming or verify_incoming_https requires one";
    case SSL_R_CALLBACK_FAILED: // only one can fail: that of credentials without a certificate
      return no_certificate;
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SHARED_CIPHER:
      return "client and server have no cipher suite in common";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return "client rejected this server's certificate: it is not signed by a CA that the client trusts";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      return "client rejected this server: it does not accept this server's certificate";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return "client rejected this server's certificate: it has expired";
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return "client supports neither TLS 1.2 nor TLS 1.3";
    case SSL_R_NO_APPLICATION_PROTOCOL:
      return "client does not support HTTP/1.1 (ALPN)";
    case SSL_R_WRONG_VERSION_NUMBER:
      return "client does not use TLS";
    default:
      break;
    }
    const auto* text = error != 0 ? ERR_reason_error_string(error) : nullptr;
    return std::string("TLS with client failed: ") + (text != nullptr ? text : "connection ended");
  }

  // ---- progress

  status fail(std::string text) {
    source = {};
    broken = failure{std::move(text)};
    return *broken;
  }

  /// @param returned result of an OpenSSL operation. @returns done if it only waits for the client
  status outcome_of(int returned) {
    switch (SSL_get_error(ssl.get(), returned)) {
    case SSL_ERROR_NONE:
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return done{};
    case SSL_ERROR_ZERO_RETURN:
      ended_by_client = true;
      return done{};
    default: {
      const auto error = ERR_peek_error();
      auto text = complaint(error);
      ERR_clear_error();
      return fail(std::move(text));
    }
    }
  }

  /// The first bytes show whether it is TLS at all. @returns false: not enough of them yet
  bool is_known(std::string_view& wire) {
    if (is_tls)
      return true;
    const auto step = wire.substr(0, header_bytes - first.size());
    first += step;
    wire.remove_prefix(step.size());
    return is_tls = first.size() == header_bytes;
  }

  status shake_hands(std::string_view& wire) {
    while (!established && !wire.empty()) {
      // In steps, so that a client may send any number of bytes after its handshake.
      source = wire.substr(0, record_bytes);
      const auto given = source.size();
      forget_errors();
      const int r = SSL_do_handshake(ssl.get());
      const auto taken = given - source.size();
      handshake_bytes += taken;
      wire.remove_prefix(taken);
      if (r == 1) {
        established = true;
      } else if (auto s = outcome_of(r); !s) {
        return s;
      } else if (handshake_bytes > handshake_bytes_max) {
        return fail("client sent more than " + std::to_string(handshake_bytes_max) + " bytes of a handshake");
      } else if (taken == 0) {
        return fail("TLS with client failed: handshake does not progress");
      }
    }
    return done{};
  }

  status read_all(std::string_view wire, const listener& on_plaintext) {
    source = wire;
    std::array<char, record_bytes> plaintext;
    for (;;) {
      forget_errors();
      std::size_t got = 0;
      const int r = SSL_read_ex(ssl.get(), plaintext.data(), plaintext.size(), &got);
      if (late_messages > late_messages_max)
        return fail("client changes its keys too often");
      if (r != 1)
        return outcome_of(r);
      if (!on_plaintext({plaintext.data(), got}))
        return done{};
      if (source.empty() && SSL_has_pending(ssl.get()) == 0)
        return done{}; // calling OpenSSL would cost a buffer and find nothing
    }
  }
};

https_channel::https_channel(https_credentials_ptr mine) : state_(std::make_unique<state>()) {
  auto& me = *state_;
  me.mine = std::move(mine);
  me.ssl.reset(SSL_new(me.mine->context()));
  auto* bytes = BIO_new(state::bytes_method());
  INVARIANT(me.ssl != nullptr && bytes != nullptr);
  BIO_set_data(bytes, &me);
  BIO_set_init(bytes, 1);
  SSL_set_bio(me.ssl.get(), bytes, bytes);
  SSL_set_app_data(me.ssl.get(), &me);
  SSL_set_msg_callback(me.ssl.get(), state::message_passed);
  if (me.mine->verifies_clients())
    SSL_set_verify(me.ssl.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, state::check_certificate);
  SSL_set_accept_state(me.ssl.get());
}

https_channel::~https_channel() = default;
https_channel::https_channel(https_channel&&) noexcept = default;
https_channel& https_channel::operator=(https_channel&&) noexcept = default;

status https_channel::feed(std::string_view wire, const listener& on_plaintext) {
  auto& me = *state_;
  if (me.broken)
    return *me.broken;
  if (!me.is_tls) {
    if (!me.is_known(wire))
      return done{};
    for (const auto beginning : plain_http_beginnings)
      if (me.first == beginning) {
        me.output += plain_http_answer;
        return me.fail("client sent an HTTP request to an HTTPS server");
      }
    std::string_view first = me.first;
    if (auto s = me.shake_hands(first); !s)
      return s;
  }
  if (auto s = me.shake_hands(wire); !s)
    return s;
  if (!me.established)
    return done{};
  auto s = me.read_all(wire, on_plaintext);
  me.source = {};
  return s;
}

status https_channel::write(std::string_view plaintext) {
  auto& me = *state_;
  PRECONDITION(me.established);
  if (me.broken)
    return *me.broken;
  while (!plaintext.empty()) {
    forget_errors();
    std::size_t taken = 0;
    if (const int r = SSL_write_ex(me.ssl.get(), plaintext.data(), plaintext.size(), &taken); r != 1) {
      if (auto s = me.outcome_of(r); !s)
        return s;
      return me.fail("TLS with client failed: nothing can be written");
    }
    plaintext.remove_prefix(taken);
  }
  return done{};
}

void https_channel::end() {
  auto& me = *state_;
  if (!me.established || me.broken)
    return;
  ERR_clear_error();
  SSL_shutdown(me.ssl.get());
  ERR_clear_error();
}

std::string& https_channel::output() {
  return state_->output;
}

const std::string& https_channel::output() const {
  return state_->output;
}

bool https_channel::established() const {
  return state_->established && !state_->broken;
}

bool https_channel::ended_by_client() const {
  return state_->ended_by_client;
}

bool https_channel::resumed() const {
  return SSL_session_reused(state_->ssl.get()) == 1;
}

} // namespace belay::tls
