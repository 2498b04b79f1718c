#include "actors/tls/channel.hpp"

#include "actors/tls/certificate_texts.hpp"
#include "actors/tls/openssl_handles.hpp"
#include "protocol/base/mutants.hpp"

#include <optional>

namespace belay::tls {

namespace {

// Size of a TLS record.
constexpr std::size_t read_step = 16u << 10;

} // namespace

struct channel::state {
  credentials_ptr mine;
  side which;
  ssl_ptr ssl;
  std::optional<peer_proof> peer;
  std::optional<failure> broken;
  std::size_t handshake_bytes = 0;
  std::string unknown_key; ///< identity of an offered key that this server does not have
  certificate_refusal refused_certificate;

  static state* of(const SSL* ssl) { return static_cast<state*>(SSL_get_app_data(ssl)); }

  // ---- callbacks of OpenSSL

  static SSL_SESSION* session_of(SSL* ssl, const peer_key& key) {
    constexpr unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};
    session_ptr s(SSL_SESSION_new());
    const auto* cipher = SSL_CIPHER_find(ssl, aes_128_gcm_sha256);
    if (!s || cipher == nullptr || SSL_SESSION_set_cipher(s.get(), cipher) != 1 ||
        SSL_SESSION_set_protocol_version(s.get(), TLS1_3_VERSION) != 1 ||
        SSL_SESSION_set1_master_key(s.get(), reinterpret_cast<const unsigned char*>(key.secret.data()),
                                    key.secret.size()) != 1)
      return nullptr;
    return s.release();
  }

  static int offer_key(SSL* ssl, const EVP_MD* digest, const unsigned char** identity, std::size_t* length,
                       SSL_SESSION** session) {
    *session = nullptr;
    *identity = nullptr;
    *length = 0;
    if (digest != nullptr && EVP_MD_get_type(digest) != NID_sha256)
      return 1; // the peer wants another hash: then a certificate is needed
    const auto& key = of(ssl)->mine->keys().front();
    *session = session_of(ssl, key);
    *identity = reinterpret_cast<const unsigned char*>(key.identity.data());
    *length = key.identity.size();
    return *session != nullptr ? 1 : 0;
  }

  static int find_key(SSL* ssl, const unsigned char* identity, std::size_t length, SSL_SESSION** session) {
    *session = nullptr;
    auto* self = of(ssl);
    const std::string_view wanted(reinterpret_cast<const char*>(identity), length);
    const auto* key = self->mine->accepts_key() ? self->mine->find_key(wanted) : nullptr;
    if (key != nullptr)
      *session = session_of(ssl, *key);
    else
      self->unknown_key = wanted.size() <= 64 ? std::string(wanted) : "of an unknown kind";
    return 1; // no session: certificates are used
  }

  static int check_certificate(int good, X509_STORE_CTX* store) {
    auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
    auto* self = of(ssl);
    auto* certificate = X509_STORE_CTX_get_current_cert(store);
    const bool over = X509_STORE_CTX_get_error(store) == X509_V_ERR_CERT_HAS_EXPIRED;
    if (good == 0 && !(over && MUTANT(expired_certificate_accepted))) {
      self->refused_certificate.note(store);
      return 0;
    }
    if (X509_STORE_CTX_get_error_depth(store) != 0 || self->which != side::dials ||
        !self->mine->verifies_server_name() || certificate == nullptr ||
        names_host(certificate, self->mine->server_name()))
      return 1;
    self->refused_certificate = {X509_V_ERR_HOSTNAME_MISMATCH, name_of(certificate)};
    X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH);
    return 0;
  }

  // ---- texts

  std::string certificate_complaint() const {
    if (refused_certificate.error == X509_V_ERR_HOSTNAME_MISMATCH)
      return "certificate of peer names " + refused_certificate.detail + ", not " + mine->server_name();
    if (is_of_unknown_authority(refused_certificate.error) && !mine->has_certificate())
      return "peer does not have this server's encrypt key; it presents a certificate, and no ca_file is set here";
    return refused_certificate.text("peer");
  }

  std::string own_kind() const {
    return which == side::dials && mine->dials_with_key() ? "this server's encrypt key" : "this server's certificate";
  }

  /// What an error of OpenSSL means for operators.
  std::string complaint(unsigned long error) const {
    if (refused_certificate)
      return certificate_complaint();
    const int reason = ERR_GET_REASON(error);
    if (!unknown_key.empty() &&
        (reason == SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM || reason == SSL_R_NO_SHARED_CIPHER ||
         reason == SSL_R_TLSV1_ALERT_UNKNOWN_CA || reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE ||
         reason == SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE)) {
      if (!mine->accepts_key())
        return "peer has only an encrypt key, and this server requires certificates";
      return "peer has another encrypt key: " + unknown_key;
    }
    switch (reason) {
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SHARED_CIPHER:
      return "peer has no encrypt key, and this server has no certificate";
    case SSL_R_BINDER_DOES_NOT_VERIFY:
      return "peer has another encrypt key";
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return "peer has no certificate";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return which == side::dials && !mine->dials_with_certificate() && !mine->has_certificate()
                 ? "peer rejected this server: it does not have this server's encrypt key"
                 : "peer rejected this server's certificate: it is not signed by the peer's ca_file";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return "peer rejected this server's certificate: it has expired";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return "peer rejected this server: it requires a certificate";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      return "peer rejected this server: it does not accept this server's certificate";
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
    case SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER:
      return "peer rejected this server: it does not accept " + own_kind();
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return "peer does not support TLS 1.3";
    case SSL_R_HTTP_REQUEST:
    case SSL_R_WRONG_VERSION_NUMBER:
      return "peer does not use TLS";
    default:
      break;
    }
    const auto* text = error != 0 ? ERR_reason_error_string(error) : nullptr;
    return std::string("TLS with peer failed: ") + (text != nullptr ? text : "connection ended");
  }

  // ---- progress

  status fail(std::string text) {
    broken = failure{std::move(text)};
    return *broken;
  }

  /// @param returned result of an OpenSSL operation. @returns done if it only waits for the peer
  status outcome_of(int returned) {
    switch (SSL_get_error(ssl.get(), returned)) {
    case SSL_ERROR_NONE:
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return done{};
    case SSL_ERROR_ZERO_RETURN:
      return fail("peer closed the connection");
    default: {
      const auto error = ERR_peek_error();
      ERR_clear_error();
      return fail(complaint(error));
    }
    }
  }

  void take_proof() {
    peer_proof p;
    p.by_key = SSL_session_reused(ssl.get()) == 1;
    if (p.by_key) {
      p.name = "encrypt key";
      p.may_be_raft_peer = p.may_be_client_agent = true;
    } else if (auto* certificate = SSL_get0_peer_certificate(ssl.get())) {
      p.name = name_of(certificate);
      p.may_be_raft_peer = names_host(certificate, mine->server_name());
      p.may_be_client_agent = p.may_be_raft_peer || names_host(certificate, mine->client_name());
    } else {
      p.may_be_client_agent = mine->accepts_plaintext();
    }
    peer = std::move(p);
  }

  status shake_hands() {
    ERR_clear_error();
    const int r = SSL_do_handshake(ssl.get());
    if (r != 1)
      return outcome_of(r);
    take_proof();
    return done{};
  }
};

channel::channel(credentials_ptr mine, side s) : state_(std::make_unique<state>()) {
  auto& me = *state_;
  me.mine = std::move(mine);
  me.which = s;
  me.ssl.reset(SSL_new(s == side::dials ? me.mine->dialling() : me.mine->accepting()));
  auto* in = BIO_new(BIO_s_mem());
  auto* out = BIO_new(BIO_s_mem());
  INVARIANT(me.ssl != nullptr && in != nullptr && out != nullptr);
  // Empty is not the end: more may arrive.
  BIO_set_mem_eof_return(in, -1);
  BIO_set_mem_eof_return(out, -1);
  SSL_set_bio(me.ssl.get(), in, out);
  SSL_set_app_data(me.ssl.get(), state_.get());
  SSL_set_verify(me.ssl.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, state::check_certificate);
  if (s == side::dials) {
    SSL_set_connect_state(me.ssl.get());
    if (me.mine->dials_with_key())
      SSL_set_psk_use_session_callback(me.ssl.get(), state::offer_key);
    (void)me.shake_hands();
  } else {
    SSL_set_accept_state(me.ssl.get());
    // Set even if keys are not accepted, so that the reason for a rejection is known.
    SSL_set_psk_find_session_callback(me.ssl.get(), state::find_key);
  }
}

channel::~channel() = default;
channel::channel(channel&&) noexcept = default;
channel& channel::operator=(channel&&) noexcept = default;

status channel::feed(std::string_view ciphertext, std::string& plaintext) {
  auto& me = *state_;
  if (me.broken)
    return *me.broken;
  while (!me.peer && !ciphertext.empty()) {
    // In steps, so that a peer may send any number of bytes after its handshake.
    const auto step = ciphertext.substr(0, read_step);
    me.handshake_bytes += step.size();
    if (me.handshake_bytes > handshake_bytes_max)
      return me.fail("peer sent more than " + std::to_string(handshake_bytes_max) + " bytes of a handshake");
    BIO_write(SSL_get_rbio(me.ssl.get()), step.data(), static_cast<int>(step.size()));
    ciphertext.remove_prefix(step.size());
    if (auto s = me.shake_hands(); !s)
      return s;
  }
  if (!me.peer)
    return done{};
  if (!ciphertext.empty())
    BIO_write(SSL_get_rbio(me.ssl.get()), ciphertext.data(), static_cast<int>(ciphertext.size()));
  ERR_clear_error();
  for (;;) {
    const auto before = plaintext.size();
    plaintext.resize(before + read_step);
    std::size_t got = 0;
    const int r = SSL_read_ex(me.ssl.get(), plaintext.data() + before, read_step, &got);
    plaintext.resize(before + got);
    if (r != 1)
      return me.outcome_of(r);
  }
}

status channel::write(std::string_view plaintext) {
  auto& me = *state_;
  PRECONDITION(me.peer.has_value());
  if (me.broken)
    return *me.broken;
  ERR_clear_error();
  while (!plaintext.empty()) {
    std::size_t taken = 0;
    if (const int r = SSL_write_ex(me.ssl.get(), plaintext.data(), plaintext.size(), &taken); r != 1)
      return me.outcome_of(r);
    plaintext.remove_prefix(taken);
  }
  return done{};
}

void channel::take_output(std::string& out) {
  auto* bio = SSL_get_wbio(state_->ssl.get());
  const auto waiting = BIO_ctrl_pending(bio);
  const auto before = out.size();
  out.resize(before + waiting);
  const int got = waiting == 0 ? 0 : BIO_read(bio, out.data() + before, static_cast<int>(waiting));
  out.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
}

bool channel::established() const {
  return state_->peer.has_value() && !state_->broken;
}

const peer_proof& channel::peer() const {
  PRECONDITION(state_->peer.has_value());
  return *state_->peer;
}

} // namespace belay::tls
