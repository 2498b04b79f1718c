// HTTPS at the gateway: the same responses as over HTTP; no client can delay others by TLS.

#include "tests/actors/gateway/http_gateway_fixture.hpp"
#include "tests/unit/actors/tls/certificate_files.hpp"
#include "tests/unit/actors/tls/https_client.hpp"

#include "actors/tls/credential_store.hpp"

#include <catch2/catch.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using namespace std::chrono_literals;

namespace {

tls::https_credentials_ptr load(const tls::https_settings& s, const tls::https_credentials* before = nullptr) {
  auto c = tls::https_credentials::load(s, before);
  if (!c)
    FAIL(c.error());
  return *c;
}

/// Certificates, and a gateway that presents them.
struct https_fixture {
  explicit https_fixture(gateway_settings more = {}, bool verify = false)
      : store(std::make_shared<tls::https_credential_store>(load(settings("server", verify)))) {
    more.https = store;
    gateway.emplace(std::move(more));
  }

  tls::https_settings settings(const std::string& prefix, bool verify = false) const {
    const auto f = files.signed_by(ca, prefix, prefix + ".dc1.consul");
    tls::https_settings s;
    s.ca_file = f.ca_file;
    s.cert_file = f.cert_file;
    s.key_file = f.key_file;
    s.verify_incoming = verify;
    return s;
  }
  tls::https_client_settings trusting(int version = TLS1_3_VERSION) const {
    return {.ca_file = files.folder() + "/server-ca.pem", .version = version};
  }

  tls::certificate_files files;
  tls::certificate_and_key ca = tls::authority_named("ca");
  std::shared_ptr<tls::https_credential_store> store;
  std::optional<gateway_fixture> gateway;
};

/// A blocking HTTPS client.
class secure_client {
public:
  secure_client(https_fixture& f, const tls::https_client_settings& s, SSL_SESSION* session = nullptr,
                int receive_buffer = 0)
      : socket_(f.gateway->client(receive_buffer)), tls_(s, session) {}

  /// @returns false: the handshake failed on either side
  bool shake_hands() {
    socket_.send(tls_.take_output());
    while (!tls_.established())
      if (!fill())
        return false;
    return true;
  }
  void send(const std::string& bytes) {
    tls_.write(bytes);
    socket_.send(tls_.take_output());
  }
  answer read() {
    answer a;
    while (!take_answer(response_, a))
      if (!fill())
        return {};
    return a;
  }
  answer ask(const std::string& request) {
    if (!tls_.established() && !shake_hands())
      return {};
    send(request);
    return read();
  }
  /// Reads to the end. @returns whether TLS had ended before the connection did
  bool closed() {
    while (fill()) {
    }
    return tls_.ended_by_server();
  }
  void end_of_output() {
    tls_.end();
    socket_.send(tls_.take_output());
  }
  tls::https_client& tls() { return tls_; }
  raw_client& socket() { return socket_; }

private:
  bool fill() {
    const auto came = socket_.receive();
    if (came.empty())
      return false;
    const bool good = tls_.feed(came, response_);
    socket_.send(tls_.take_output());
    return good;
  }

  raw_client socket_;
  tls::https_client tls_;
  std::string response_;
};

} // namespace

TEST_CASE("https: requests, one after another and many at once", "[https]") {
  https_fixture f;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    INFO(version);
    secure_client c(f, f.trusting(version));
    for (int i = 0; i < 3; ++i) {
      const auto r = c.ask(get("/v1/kv/a"));
      CHECK(r.status == 200);
      CHECK(r.body.find("\"Key\":\"a\"") != std::string::npos);
    }
    CHECK(c.ask(put("/v1/kv/a", std::string(100'000, 'v'))).body == "true");
    std::string many;
    for (int i = 0; i < 50; ++i)
      many += get("/v1/kv/" + std::to_string(i));
    c.send(many);
    for (int i = 0; i < 50; ++i)
      CHECK(c.read().body.find("\"Key\":\"" + std::to_string(i) + "\"") != std::string::npos);
    c.send("GET /v1/kv/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    CHECK(c.read().status == 200);
    CHECK(c.closed()); // with close_notify
  }
}

// The handshake of a TLS client may be split over many packets and records, as on a slow network.
TEST_CASE("https: bytes may arrive one by one", "[https]") {
  https_fixture f;
  auto socket = f.gateway->client();
  tls::https_client c(f.trusting());
  std::string response;
  for (int round = 0; round < 2; ++round) {
    for (const char byte : c.take_output())
      socket.send({&byte, 1});
    while (!c.established())
      REQUIRE(c.feed(socket.receive(), response));
  }
  for (const char byte : get("/v1/kv/a"))
    c.write({&byte, 1});
  for (const char byte : c.take_output())
    socket.send({&byte, 1});
  answer a;
  while (!take_answer(response, a))
    REQUIRE(c.feed(socket.receive(), response));
  CHECK(a.status == 200);
}

TEST_CASE("https: a large response arrives complete, and a client that does not read it costs little memory",
          "[https]") {
  https_fixture f;
  const std::string value(8 << 20, 'x');
  f.gateway->behind().answer = [&](const state::query&) { return entry_result("k", value); };
  secure_client c(f, f.trusting());
  const auto r = c.ask(get("/v1/kv/k?raw"));
  CHECK(r.body == value);

  secure_client slow(f, f.trusting(), nullptr, 4096), other(f, f.trusting());
  REQUIRE(slow.shake_hands());
  slow.send(get("/v1/kv/k?raw"));
  REQUIRE(eventually([&] { return f.gateway->behind().read_count() == 2; }));
  CHECK(other.ask(get("/v1/status/leader")).status != 0);
  CHECK(slow.read().body == value);
}

TEST_CASE("https: a blocking query is answered, ends with its client, and at shutdown", "[https]") {
  https_fixture f;
  f.gateway->behind().hold_reads = true;
  secure_client gone(f, f.trusting()), stays(f, f.trusting()), woken(f, f.trusting());
  for (auto* c : {&gone, &stays, &woken}) {
    REQUIRE(c->shake_hands());
    const auto before = f.gateway->behind().read_count();
    c->send(get("/v1/kv/a?index=5&wait=60s"));
    REQUIRE(eventually([&] { return f.gateway->behind().read_count() == before + 1; }));
  }
  gone.socket().reset();
  REQUIRE(eventually([&] { return f.gateway->behind().cancel_count() == 1; }));
  f.gateway->answer_read(2);
  CHECK(woken.read().status == 200);
  CHECK(f.gateway->stop());
  CHECK(stays.read().status == 500);
  CHECK(stays.closed());
}

TEST_CASE("https: a client may end its side and still read the answer", "[https]") {
  https_fixture f;
  f.gateway->behind().hold_writes = true;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    secure_client c(f, f.trusting(version));
    REQUIRE(c.shake_hands());
    const auto before = f.gateway->behind().write_count();
    c.send(put("/v1/kv/a", "1"));
    c.end_of_output();
    REQUIRE(eventually([&] { return f.gateway->behind().write_count() == before + 1; }));
    f.gateway->answer_write(before, {{}, wire::call_outcome::done, true, log_index{9}, {}});
    CHECK(c.read().body == "true");
    CHECK(c.closed());
  }
}

TEST_CASE("https: connections without TLS are rejected, and others are served meanwhile", "[https]") {
  https_fixture f;
  auto plain = f.gateway->client();
  plain.send(get("/v1/kv/a"));
  CHECK(plain.rest() == "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n");
  auto garbage = f.gateway->client();
  garbage.send(std::string(100'000, '\x16'));
  CHECK(garbage.rest().size() < 100);
  auto endless = f.gateway->client();
  endless.send(std::string("\x16\x03\x01\x40\x00\x01\x00\xff\xff", 9) + std::string(16380, 'x'));
  for (int i = 0; i < 20; ++i)
    endless.send(std::string("\x16\x03\x01\x40\x00", 5) + std::string(16384, 'x'));
  CHECK(endless.rest().size() < 100);
  auto half = f.gateway->client();
  tls::https_client c(f.trusting());
  half.send(c.take_output().substr(0, 100));
  secure_client good(f, f.trusting());
  CHECK(good.ask(get("/v1/kv/a")).status == 200);
  half.end_of_output();
  CHECK(half.rest().empty());
}

TEST_CASE("https: a handshake that does not complete does not block others", "[https]") {
  gateway_settings s;
  s.limits.handshake = 100ms;
  https_fixture f(s);
  auto silent = f.gateway->client(), half = f.gateway->client();
  tls::https_client c(f.trusting());
  half.send(c.take_output().substr(0, 100));
  secure_client good(f, f.trusting());
  REQUIRE(good.shake_hands());
  CHECK(silent.closed());
  CHECK(half.closed());
  CHECK(good.ask(get("/v1/kv/a")).status == 200); // after the handshake there is no time limit
}

TEST_CASE("https: clients must show a certificate where that is set", "[https]") {
  https_fixture f({}, true);
  const auto ours = f.files.signed_by(f.ca, "client", "client.dc1.consul");
  const auto strange = f.files.signed_by(tls::authority_named("other"), "strange");
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    INFO(version);
    auto with = f.trusting(version);
    with.cert_file = ours.cert_file;
    with.key_file = ours.key_file;
    secure_client good(f, with);
    CHECK(good.ask(get("/v1/kv/a")).status == 200);
    secure_client none(f, f.trusting(version));
    CHECK(none.ask(get("/v1/kv/a")).status == 0);
    with.cert_file = strange.cert_file;
    with.key_file = strange.key_file;
    secure_client unverified_peer(f, with);
    CHECK(unverified_peer.ask(get("/v1/kv/a")).status == 0);
    CHECK(unverified_peer.tls().complaint().find("unknown ca") != std::string::npos);
  }
  CHECK(f.gateway->behind().read_count() == 2);
}

TEST_CASE("https: new certificates are presented after a reload, and no client is disconnected", "[https]") {
  https_fixture f;
  secure_client before(f, f.trusting());
  CHECK(before.ask(get("/v1/kv/a")).status == 200);
  CHECK(before.tls().server_name() == "server.dc1.consul");
  auto session = before.tls().take_session();
  f.store->replace(load(f.settings("renewed"), f.store->now().get()));
  CHECK(before.ask(get("/v1/kv/a")).status == 200);
  secure_client after(f, f.trusting());
  CHECK(after.ask(get("/v1/kv/a")).status == 200);
  CHECK(after.tls().server_name() == "renewed.dc1.consul");
  secure_client goes_on(f, f.trusting(), session.get());
  CHECK(goes_on.ask(get("/v1/kv/a")).status == 200);
  CHECK(goes_on.tls().resumed());
}

// Handshakes may take only a share of the thread from other clients, and each gets its turn.
TEST_CASE("https: many handshakes at once are worked off in turn, and requests go on", "[https]") {
  gateway_settings s;
  s.limits.handshake_share = 0.05;
  https_fixture f(s);
  secure_client inside(f, f.trusting());
  REQUIRE(inside.ask(get("/v1/kv/a")).status == 200);
#ifdef __SANITIZE_ADDRESS__ // a handshake takes ten times as long, and clients do not wait for ever
  constexpr int clients = 30;
#else
  constexpr int clients = 150;
#endif
  std::vector<std::unique_ptr<secure_client>> crowd;
  for (int i = 0; i < clients; ++i) {
    crowd.push_back(std::make_unique<secure_client>(f, f.trusting()));
    crowd.back()->socket().send(crowd.back()->tls().take_output());
  }
  for (int i = 0; i < 20; ++i)
    CHECK(inside.ask(get("/v1/kv/a")).status == 200);
  int served = 0;
  for (auto& c : crowd)
    served += c->ask(get("/v1/kv/a")).status == 200;
  CHECK(served == clients);
  crowd.clear();
  secure_client last(f, f.trusting());
  CHECK(last.ask(get("/v1/kv/a")).status == 200);
}

TEST_CASE("https: a certificate is shown to curl", "[https]") {
  if (std::system("curl --version > /dev/null 2>&1") != 0) {
    WARN("curl is not there");
    return;
  }
  https_fixture f;
  const auto out = f.files.folder() + "/answer";
  const auto curl = "curl -s --max-time 20 --cacert " + f.files.folder() + "/server-ca.pem -o " + out +
                    " https://localhost:" + std::to_string(f.gateway->port()) + "/v1/kv/a?raw";
  CHECK(std::system(curl.c_str()) == 0);
  std::ifstream in(out);
  std::string body;
  in >> body;
  CHECK(body == "v");
}

TEST_CASE("unix sockets: permissions are set before any client can connect, and invalid ones stop the start",
          "[gateway]") {
  tls::certificate_files folder;
  const auto path = folder.folder() + "/s.sock";
  const auto me = std::to_string(::getuid()), mine = std::to_string(::getgid());
  const auto open = [&](const unix_socket_rights& r) { return listening_sockets::open({{"", 0, path}}, r); };
  {
    auto sockets = open({me, mine, "0640"});
    REQUIRE(sockets.ok());
    struct stat info {};
    REQUIRE(::stat(path.c_str(), &info) == 0);
    CHECK((info.st_mode & 07777) == 0640);
    CHECK_FALSE(open({}).ok()); // there is a listener on that port
  }
  CHECK(::access(path.c_str(), F_OK) != 0);
  const std::pair<unix_socket_rights, std::string> rows[] = {
      {{"nobody-of-that-name", "", ""}, "invalid user specified: nobody-of-that-name"},
      {{"", "no-group-of-that-name", ""}, "invalid group specified: no-group-of-that-name"},
      {{"", "", "0998"}, "invalid mode specified: 0998"},
      {{"", "", "17777"}, "invalid mode specified: 17777"},
  };
  for (const auto& [rights, complaint] : rows) {
    const auto refused = open(rights);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error() == "listen unix://" + path + ": Failed setting up socket: " + complaint);
    CHECK(::access(path.c_str(), F_OK) != 0);
  }
}

// These sockets have no server: the kernel shows what would arrive there.
TEST_CASE("a socket at :: has both families, unless IPv4 has a socket of its own", "[gateway]") {
  const auto only_v6 = [](const std::vector<listen_address>& addresses) -> std::optional<bool> {
    const auto sockets = listening_sockets::open(addresses);
    if (!sockets.ok())
      return std::nullopt; // a machine without IPv6
    for (const auto& s : sockets->list())
      if (s.name.starts_with('[')) {
        int value = -1;
        socklen_t size = sizeof value;
        REQUIRE(::getsockopt(s.fd, IPPROTO_IPV6, IPV6_V6ONLY, &value, &size) == 0);
        return value == 1;
      }
    return std::nullopt;
  };
  if (!only_v6({{"::1", 0, ""}}))
    return;
  CHECK(only_v6({{"::", 0, ""}}) == false);
  CHECK(only_v6({{"::1", 0, ""}}) == true);
  CHECK(only_v6({{"127.0.0.1", 0, ""}, {"::", 0, ""}}) == true);
  CHECK(only_v6({{"", 0, ""}}) == std::nullopt);
}

// By TLS's close_notify, or by the end of the connection alone: clients do either.
TEST_CASE("https: the end of the input ends a wait, and the response arrives", "[https]") {
  https_fixture f;
  f.gateway->behind().hold_reads = true;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION})
    for (const bool by_tls : {true, false}) {
      INFO("version " << version << ", " << (by_tls ? "close_notify" : "the connection's end"));
      secure_client c(f, f.trusting(version));
      REQUIRE(c.shake_hands());
      const auto before = f.gateway->behind().read_count();
      c.send(get("/v1/kv/a?index=5&wait=590s"));
      REQUIRE(eventually([&] { return f.gateway->behind().read_count() == before + 1; }));
      if (by_tls)
        c.end_of_output();
      else
        c.socket().end_of_output();
      CHECK(c.read().status == 200);
      CHECK(c.closed());
    }
}
