// HTTPS without sockets: which clients are accepted, their alerts, and limits on their effects.

#include "tests/unit/actors/tls/certificate_files.hpp"
#include "tests/unit/actors/tls/https_client.hpp"

#include <algorithm>
#include <optional>
#include <string>

using namespace belay;
using namespace belay::tls;

namespace {

https_settings shown(const credential_settings& files, bool verify = false) {
  https_settings s;
  s.ca_file = files.ca_file;
  s.cert_file = files.cert_file;
  s.key_file = files.key_file;
  s.verify_incoming = verify;
  return s;
}

https_credentials_ptr loaded(const https_settings& s, const https_credentials* before = nullptr) {
  auto c = https_credentials::load(s, before);
  if (!c)
    FAIL(c.error());
  return *c;
}

/// Both ends, with all bytes between them delivered at once.
struct pair {
  pair(https_credentials_ptr mine, const https_client_settings& s, SSL_SESSION* session = nullptr)
      : server(std::move(mine)), client(s, session) {}

  void carry() {
    for (int i = 0; i < 10; ++i) {
      const auto up = client.take_output();
      if (!up.empty() && !failed)
        take(up);
      const auto down = std::exchange(server.output(), {});
      if (!down.empty() && !client.feed(down, to_client))
        client_failed = true;
      if (up.empty() && down.empty())
        return;
    }
  }
  void take(std::string_view wire) {
    auto s = server.feed(wire, [this](std::string_view response) {
      longest = std::max(longest, response.size());
      to_server += response;
      return true;
    });
    if (!s)
      failed = s.error();
  }

  https_channel server;
  https_client client;
  std::string to_server, to_client;
  std::size_t longest = 0;
  std::optional<std::string> failed;
  bool client_failed = false;
};

constexpr char h1[] = "\x08http/1.1", h2[] = "\x02h2";

} // namespace

TEST_CASE("https: both versions carry bytes both ways", "[https]") {
  certificate_files files;
  const auto ca = authority_named("ca");
  const auto mine = loaded(shown(files.signed_by(ca, "server")));
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    INFO(version);
    pair p(mine, {.ca_file = files.folder() + "/server-ca.pem", .version = version});
    CHECK_FALSE(p.server.established());
    p.carry();
    REQUIRE_FALSE(p.failed);
    REQUIRE(p.server.established());
    REQUIRE(p.client.established());
    p.client.write("hello");
    REQUIRE(p.server.write("good day").ok());
    p.carry();
    CHECK(p.to_server == "hello");
    CHECK(p.to_client == "good day");
    const std::string long_words(300'000, 'x');
    p.client.write(long_words);
    REQUIRE(p.server.write(long_words).ok());
    p.carry();
    CHECK(p.to_server == "hello" + long_words);
    CHECK(p.to_client == "good day" + long_words);
    CHECK(p.longest == 16384);
    p.server.end();
    p.carry();
    CHECK(p.client.ended_by_server());
    CHECK_FALSE(p.server.ended_by_client());
    p.client.write("still here"); // its own side is open
    p.client.end();
    p.carry();
    CHECK(p.to_server.ends_with("still here"));
    CHECK(p.server.ended_by_client());
    CHECK_FALSE(p.failed);
  }
}

TEST_CASE("https: bytes may arrive one by one", "[https]") {
  certificate_files files;
  pair p(loaded(shown(files.signed_by(authority_named("ca"), "server"))), {.ca_file = ""});
  for (int round = 0; round < 4; ++round) {
    for (const char c : p.client.take_output())
      p.take({&c, 1});
    p.client.feed(std::exchange(p.server.output(), {}), p.to_client);
    if (p.client.established() && p.server.established() && p.to_server.empty())
      p.client.write("GET / HTTP/1.1\r\n");
  }
  CHECK_FALSE(p.failed);
  CHECK(p.to_server == "GET / HTTP/1.1\r\n");
}

TEST_CASE("https: only clients with the required credentials are accepted, and each gets the reason", "[https]") {
  certificate_files files;
  const auto ca = authority_named("ca"), other = authority_named("other");
  const auto server = files.signed_by(ca, "server");
  const auto good = files.signed_by(ca, "good", "client.dc1.consul");
  const auto of_other_ca = files.signed_by(other, "stranger", "stranger.dc1.consul");
  const auto expired =
      files.signed_by(ca, "expired", "old.dc1.consul", {std::chrono::hours(-2), std::chrono::hours(-1)});
  const auto asks = loaded(shown(server, true));
  struct row {
    const char* name;
    const credential_settings* shows;
    const char* complaint; ///< empty: it is accepted
  };
  const row rows[] = {
      {"right", &good, ""},
      {"none", nullptr, "client has no certificate, and verify_incoming or verify_incoming_https requires one"},
      {"wrong CA", &of_other_ca, "certificate of client is not signed by ca_file: stranger.dc1.consul"},
      {"expired", &expired, "certificate of client has expired: "},
  };
  for (const auto& r : rows)
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      INFO(r.name << " " << version);
      https_client_settings s{.ca_file = server.ca_file, .version = version};
      if (r.shows != nullptr) {
        s.cert_file = r.shows->cert_file;
        s.key_file = r.shows->key_file;
      }
      pair p(asks, s);
      p.carry();
      CHECK(p.server.established() == (*r.complaint == '\0'));
      CHECK(p.failed.value_or("").starts_with(r.complaint));
      CHECK(p.client_failed == (*r.complaint != '\0')); // an alert arrived
    }
}

TEST_CASE("https: errors of a client are reported", "[https]") {
  certificate_files files;
  const auto ca = authority_named("ca");
  const auto server = files.signed_by(ca, "server");
  const auto other = files.signed_by(authority_named("other"), "other");
  https_settings bare;
  struct row {
    https_settings mine;
    https_client_settings client;
    const char* complaint;
  };
  const row rows[] = {
      {bare, {.ca_file = ""}, "no certificates configured: set cert_file and key_file"},
      {bare, {.ca_file = "", .version = TLS1_2_VERSION}, "no certificates configured: set cert_file and key_file"},
      {shown(server),
       {.ca_file = other.ca_file},
       "client rejected this server's certificate: it is not signed by a CA that the client trusts"},
      {shown(server), {.ca_file = "", .version = TLS1_1_VERSION}, "client supports neither TLS 1.2 nor TLS 1.3"},
      {shown(server), {.ca_file = "", .alpn = h2}, "client does not support HTTP/1.1 (ALPN)"},
      {shown(server),
       {.ca_file = "", .version = TLS1_2_VERSION, .ciphers = "ECDHE-RSA-AES128-GCM-SHA256"},
       "client and server have no cipher suite in common"},
  };
  for (const auto& r : rows) {
    INFO(r.complaint);
    pair p(loaded(r.mine), r.client);
    p.carry();
    CHECK_FALSE(p.server.established());
    CHECK(p.failed.value_or("") == r.complaint);
    CHECK(p.client_failed);
  }
}

// Go's servers, and thus Consul, send unrecognized_name: clients show the same for both.
TEST_CASE("https: without a certificate the client gets the alert unrecognized_name", "[https]") {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION})
    for (const char* name : {"localhost", ""}) {
      INFO(version << " " << name);
      pair p(loaded(https_settings{}), {.ca_file = "", .name = name, .version = version});
      p.carry();
      CHECK(p.failed.value_or("") == "no certificates configured: set cert_file and key_file");
      CHECK(p.client.complaint().find("unrecognized name") != std::string::npos);
    }
}

TEST_CASE("https: HTTP/1.1 is chosen where it is offered, at any position", "[https]") {
  certificate_files files;
  const auto mine = loaded(shown(files.signed_by(authority_named("ca"), "server")));
  const std::pair<std::string, std::string> rows[] = {
      {"", ""}, {h1, "http/1.1"}, {std::string(h2) + h1, "http/1.1"}, {std::string(h1) + h2, "http/1.1"}};
  for (const auto& [offered, chosen] : rows)
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
      pair p(mine, {.ca_file = "", .version = version, .alpn = offered});
      p.carry();
      CHECK(p.server.established());
      CHECK(p.client.protocol() == chosen);
    }
}

TEST_CASE("https: plain HTTP is answered as Go does, garbage ends the connection, and a handshake is not endless",
          "[https]") {
  certificate_files files;
  const auto mine = loaded(shown(files.signed_by(authority_named("ca"), "server")));
  const auto never = [](std::string_view) -> bool {
    FAIL("nobody has said anything");
    return false;
  };
  for (const std::string line : {"GET /v1/kv/a HTTP/1.1\r\n", "PUT /v1/kv/a HTTP/1.1\r\n", "POST /",
                                 "OPTIONS * HTTP/1.1", "HEAD /", "DELETE /v1/kv/a HTTP/1.1\r\n"})
    for (const auto step : {std::size_t{1}, line.size()}) {
      https_channel c(mine);
      status s = done{};
      for (std::size_t at = 0; at < line.size() && s; at += step)
        s = c.feed(line.substr(at, step), never);
      REQUIRE_FALSE(s.ok());
      CHECK(s.error() == "client sent an HTTP request to an HTTPS server");
      CHECK(c.output() == "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n");
      CHECK_FALSE(c.feed("more", never).ok());
    }
  https_channel garbage(mine);
  CHECK_FALSE(garbage.feed("\x01\x02\x03\x04 garbage without end", never).ok());
  https_channel silent(mine);
  CHECK(silent.feed("GET", never).ok());
  CHECK(silent.output().empty());

  // A ClientHello that never ends: records of a handshake message longer than any real one.
  https_channel patient(mine);
  std::size_t taken = 0;
  status s = done{};
  const std::string record =
      std::string("\x16\x03\x01\x10\x00", 5) + std::string("\x01\x00\xff\xff", 4) + std::string(4092, 'x');
  const std::string next = std::string("\x16\x03\x01\x10\x00", 5) + std::string(4096, 'x');
  for (int i = 0; i < 100 && s; ++i) {
    s = patient.feed(i == 0 ? record : next, never);
    taken += record.size();
  }
  CHECK_FALSE(s.ok());
  CHECK(taken <= https_channel::handshake_bytes_max + record.size());
}

TEST_CASE("https: a changed byte is noticed, and keys are not changed without end", "[https]") {
  certificate_files files;
  const auto mine = loaded(shown(files.signed_by(authority_named("ca"), "server")));
  pair changed(mine, {.ca_file = ""});
  changed.carry();
  changed.client.write("hello");
  auto wire = changed.client.take_output();
  wire.back() ^= 1;
  changed.take(wire);
  CHECK(changed.failed);
  CHECK(changed.to_server.empty());

  pair p(mine, {.ca_file = ""});
  p.carry();
  for (int i = 0; i < https_channel::late_messages_max; ++i)
    p.client.change_keys();
  p.client.write("still");
  p.carry();
  CHECK_FALSE(p.failed);
  CHECK(p.to_server == "still");
  for (int i = 0; i < 1000; ++i)
    p.client.change_keys();
  p.client.write("no more");
  p.take(p.client.take_output());
  CHECK(p.failed.value_or("") == "client changes its keys too often");
  CHECK(p.to_server == "still");
  CHECK(p.server.output().size() < 4096);
}

TEST_CASE("https: a session is resumed, even after a reload, but not under another CA", "[https]") {
  certificate_files files;
  const auto ca = authority_named("ca"), other = authority_named("other");
  const auto server = files.signed_by(ca, "server");
  const auto renewed = files.signed_by(ca, "renewed");
  const auto client = files.signed_by(ca, "client");
  auto stricter = shown(server, true);
  stricter.ca_file = files.signed_by(other, "strict").ca_file;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION})
    for (const bool verify : {false, true}) {
      INFO(version << " " << verify);
      const https_client_settings s{
          .ca_file = "", .cert_file = client.cert_file, .key_file = client.key_file, .version = version};
      const auto before = loaded(shown(server, verify));
      const auto session_with = [&](const https_credentials_ptr& c) {
        pair p(c, s);
        p.carry();
        REQUIRE(p.client.established());
        CHECK_FALSE(p.server.resumed());
        p.client.end(); // a session without a proper end cannot be resumed
        return p.client.take_session();
      };
      const auto goes_on = [&](const https_credentials_ptr& c, const session_ptr& with) {
        pair p(c, s, with.get());
        p.carry();
        CHECK(p.client.resumed() == p.server.resumed());
        return p.server.established() && p.server.resumed();
      };
      CHECK(goes_on(before, session_with(before)));
      CHECK(goes_on(loaded(shown(renewed, verify), before.get()), session_with(before)));
      CHECK_FALSE(goes_on(loaded(shown(renewed, verify)), session_with(before))); // a restart
      CHECK_FALSE(goes_on(loaded(shown(server, !verify), before.get()), session_with(before)));
      CHECK_FALSE(goes_on(loaded(stricter, before.get()), session_with(before)));
    }
}

TEST_CASE("https: missing or wrong settings are reported", "[https]") {
  certificate_files files;
  const auto ca = authority_named("ca");
  const auto good = files.signed_by(ca, "good"), other = files.signed_by(ca, "other");
  const auto complaint = [](const https_settings& s) {
    auto c = https_credentials::load(s);
    return c ? std::string() : c.error();
  };
  CHECK(complaint(shown(good, true)).empty());
  CHECK(complaint({}).empty());
  auto s = shown(good, true);
  s.ca_file.clear();
  CHECK(complaint(s) == "VerifyIncoming set, and no CA certificate provided!");
  s.ca_path = files.folder() + "/nothing";
  CHECK(complaint(s).starts_with("ca_path: open "));
  s = shown(good, true);
  s.cert_file.clear();
  CHECK(complaint(s) == "VerifyIncoming set, and no Cert/Key pair provided!");
  s = shown(good);
  s.key_file = other.key_file;
  CHECK(complaint(s) == "key_file: " + other.key_file + " does not belong to the certificate in " + good.cert_file);
  s = shown(good);
  s.tls_min_version = "tls13";
  CHECK(complaint(s) == "TLSMinVersion: value tls13 not supported, please specify one of [tls10,tls11,tls12]");
  s.tls_min_version = "tls10";
  CHECK(complaint(s).empty());

  CHECK(parse_cipher_suites("").value().empty());
  CHECK(parse_cipher_suites(" TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 ")
            .value()
            .size() == 2);
  CHECK(parse_cipher_suites("TLS_X").error() == "unsupported cipher \"TLS_X\"");
  CHECK_FALSE(parse_cipher_suites("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,"));
  CHECK_FALSE(parse_cipher_suites(","));
  // What `consul validate` (1.8.7) accepts, one by one, if OpenSSL has it; and what it rejects.
  for (const std::string kind : {"RSA", "ECDSA"})
    for (const std::string rest :
         {"128_GCM_SHA256", "256_GCM_SHA384", "128_CBC_SHA256", "128_CBC_SHA", "256_CBC_SHA"}) {
      INFO(kind << rest);
      s.cipher_suites = parse_cipher_suites("TLS_ECDHE_" + kind + "_WITH_AES_" + rest).value();
      CHECK(complaint(s).empty());
    }
  for (const auto* name :
       {"TLS_RSA_WITH_RC4_128_SHA", "TLS_RSA_WITH_3DES_EDE_CBC_SHA", "TLS_RSA_WITH_AES_128_CBC_SHA",
        "TLS_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_RC4_128_SHA", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", "TLS_AES_128_GCM_SHA256"})
    CHECK(parse_cipher_suites(name).error() == "unsupported cipher \"" + std::string(name) + "\"");
  s.cipher_suites = parse_cipher_suites("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384").value();
  pair p(loaded(s), {.ca_file = "", .version = TLS1_2_VERSION});
  p.carry();
  CHECK(std::string(SSL_get_cipher_name(p.client.ssl())) == "ECDHE-ECDSA-AES256-GCM-SHA384");
}
