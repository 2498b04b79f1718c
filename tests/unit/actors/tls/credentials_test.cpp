// What a TLS configuration must contain, and its meaning for peers. Texts in quotes are Consul's.

#include "actors/tls/channel.hpp"
#include "tests/unit/actors/tls/certificate_files.hpp"

#include <catch2/catch.hpp>

using namespace belay::tls;

TEST_CASE("keys are derived as in RFC 5869, and wrong ones are rejected", "[tls]") {
  // Computed once with another HKDF (Python's hmac): servers of different versions must agree.
  const auto key = derive_peer_key("pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s=");
  REQUIRE(key.ok());
  CHECK(key->identity == "9dcffd87464a7633");
  std::string hex;
  for (const unsigned char c : key->secret)
    hex += "0123456789abcdef"[c >> 4], hex += "0123456789abcdef"[c & 15];
  CHECK(hex == "787e72b04cae2a576e93a0852cccc33302babd86c44248f346422f46307b0a96");
  CHECK(derive_peer_key("QUJDREVGR0hJSktMTU5PUA==").ok());         // 16 bytes
  CHECK(derive_peer_key("QUJDREVGR0hJSktMTU5PUFFSU1RVVldY").ok()); // 24
  for (const auto* bad : {"", "QUJD", "not base64!", "QUJDREVGR0hJSktMTU5PUFE="}) {
    const auto refused = derive_peer_key(bad);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().starts_with("encrypt has invalid key: "));
  }
  const auto made = generate_peer_secret();
  REQUIRE(made.ok());
  CHECK(derive_peer_key(*made).ok());
  CHECK(*made != *generate_peer_secret());
}

TEST_CASE("missing files are reported", "[tls]") {
  const certificate_files files;
  const auto good = files.signed_by(authority_named("ours"), "good");
  const auto other = files.signed_by(authority_named("theirs"), "other");
  const auto changed = [&](auto change) {
    auto s = good;
    change(s);
    return s;
  };
  struct row {
    credential_settings settings;
    std::string expected_text;
  };
  const row rows[] = {
      {changed([](auto& s) { s.ca_file.clear(); }), "VerifyOutgoing set, and no CA certificate provided!"},
      {changed([](auto& s) { s.ca_file.clear(), s.verify_outgoing = false; }),
       "VerifyIncoming set, and no CA certificate provided!"},
      {changed([](auto& s) { s.cert_file.clear(), s.key_file.clear(); }),
       "VerifyIncoming set, and no Cert/Key pair provided!"},
      {changed([](auto& s) { s.verify_incoming = false, s.cert_file.clear(), s.key_file.clear(); }),
       "VerifyOutgoing set, and no Cert/Key pair provided!"},
      {changed([](auto& s) { s = {}, s.verify_server_hostname = true; }),
       "VerifyOutgoing set, and no CA certificate provided!"},
      {changed([](auto& s) { s.verify_incoming = s.verify_outgoing = false, s.key_file.clear(); }),
       "cert_file is set without key_file"},
      {changed([](auto& s) { s.ca_file += ".gone"; }),
       "ca_file: open " + good.ca_file + ".gone: no such file or directory"},
      {changed([](auto& s) { s.cert_file += ".gone"; }), "cert_file: open "},
      {changed([](auto& s) { s.key_file += ".gone"; }), "key_file: open "},
      {changed([](auto& s) { s.ca_file = s.key_file; }), " has no certificate in PEM"},
      {changed([](auto& s) { s.key_file = s.cert_file; }), " has no private key in PEM"},
      {changed([&](auto& s) { s.key_file = other.key_file; }), "does not belong to the certificate in"},
      {changed([&](auto& s) { s.ca_path = files.folder() + "/none"; }), "ca_path: open "},
      {changed([](auto& s) { s.encrypt = {"x"}; }), "encrypt has invalid key: "},
  };
  for (const auto& r : rows) {
    CAPTURE(r.expected_text);
    const auto refused = credentials::load(r.settings);
    REQUIRE_FALSE(refused.ok());
    CAPTURE(refused.error());
    CHECK(refused.error().find(r.expected_text) != std::string::npos);
  }
  CHECK(credentials::load(good).ok());
}

TEST_CASE("a folder of CAs: each of them is trusted", "[tls]") {
  const certificate_files files;
  std::filesystem::create_directory(files.folder() + "/cas");
  const auto first = authority_named("first"), second = authority_named("second");
  files.write("cas/one.pem", first.certificate);
  files.write("cas/two", second.certificate);
  auto dialling = files.signed_by(first, "first");
  auto accepting = files.signed_by(second, "second");
  for (auto* s : {&dialling, &accepting}) {
    s->ca_file.clear();
    s->ca_path = files.folder() + "/cas";
  }
  channel a(loaded(dialling), channel::side::dials), b(loaded(accepting), channel::side::accepts);
  for (int round = 0; round < 3; ++round) {
    std::string bytes, received;
    a.take_output(bytes);
    CHECK(b.feed(bytes, received).ok());
    bytes.clear();
    b.take_output(bytes);
    CHECK(a.feed(bytes, received).ok());
  }
  CHECK(a.established());
  CHECK(b.established());
}

TEST_CASE("which settings turn TLS on", "[tls]") {
  // The table of docs/operate/security.md.
  const certificate_files files;
  auto cert = files.signed_by(authority_named("ours"), "server");
  cert.verify_incoming = cert.verify_outgoing = false;
  credential_settings key;
  key.encrypt = {"QUJDREVGR0hJSktMTU5PUA=="};
  const auto with = [](credential_settings s, auto change) {
    change(s);
    return s;
  };
  struct row {
    const char* name;
    credential_settings settings;
    bool dials_plain, dials_key, dials_certificate, accepts_plain, accepts_key, accepts_certificate;
  };
  const row rows[] = {
      {"nothing", {}, true, false, false, true, false, false},
      {"encrypt", key, false, true, false, false, true, false},
      {"encrypt, neither way demanded",
       with(key, [](auto& s) { s.encrypt_verify_incoming = s.encrypt_verify_outgoing = false; }), true, false, false,
       true, true, false},
      {"encrypt, incoming not demanded", with(key, [](auto& s) { s.encrypt_verify_incoming = false; }), false, true,
       false, true, true, false},
      {"certificates", cert, true, false, false, true, false, true},
      {"certificates, outgoing", with(cert, [](auto& s) { s.verify_outgoing = true; }), false, false, true, true, false,
       true},
      {"certificates, both", with(cert, [](auto& s) { s.verify_outgoing = s.verify_incoming = true; }), false, false,
       true, false, false, true},
      {"certificates and encrypt", with(cert, [&](auto& s) { s.encrypt = key.encrypt; }), false, true, false, false,
       true, true},
      {"certificates and encrypt, outgoing",
       with(cert, [&](auto& s) { s.encrypt = key.encrypt, s.verify_outgoing = true; }), false, false, true, false, true,
       true},
      {"certificates and encrypt, both",
       with(cert, [&](auto& s) { s.encrypt = key.encrypt, s.verify_outgoing = s.verify_incoming = true; }), false,
       false, true, false, false, true},
  };
  for (const auto& r : rows) {
    CAPTURE(r.name);
    const auto c = loaded(r.settings);
    CHECK(!c->dials_with_tls() == r.dials_plain);
    CHECK(c->dials_with_key() == r.dials_key);
    CHECK(c->dials_with_certificate() == r.dials_certificate);
    CHECK(c->accepts_plaintext() == r.accepts_plain);
    CHECK(c->accepts_key() == r.accepts_key);
    CHECK(c->has_certificate() == r.accepts_certificate);
  }
}
