// What arrives on a connection before its peer is known: in pieces, with TLS and without, and from
// unauthorized peers. Which peers may connect: tests/sim/credential_model_test.cpp.

#include "actors/consensus/peer_handshake.hpp"
#include "tests/unit/actors/tls/certificate_files.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;

namespace {

tls::credentials_ptr with_key(const char* key) {
  tls::credential_settings s;
  if (key != nullptr)
    s.encrypt = {key};
  return tls::loaded(s);
}
const char* const one_key = "pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s=";

wire::hello hello_of(std::string name) {
  wire::hello h;
  h.self = {node_id{7}, "uuid", std::move(name), "10.0.0.1:8300"};
  h.datacenter = "dc1";
  return h;
}
std::string bytes_of(const wire::frame& f) {
  std::string out;
  wire::encode_frame(f, out);
  return out;
}

/// Feeds the bytes in pieces of `step`. @returns the last result of feed()
result<std::optional<peer_handshake::outcome>> fed(peer_handshake& door, std::string_view bytes, std::size_t step) {
  for (;; bytes.remove_prefix(step)) {
    auto after_hello = door.feed(bytes.substr(0, step));
    if (!after_hello || *after_hello || bytes.size() <= step)
      return after_hello;
  }
}

} // namespace

TEST_CASE("a handshake may arrive in pieces, followed by its first frames", "[peers]") {
  const auto step = static_cast<std::size_t>(GENERATE(1, 3, 1000));
  const auto hello = hello_of("seven");
  const auto words = bytes_of(hello) + bytes_of(wire::gossip{});
  SECTION("without TLS") {
    peer_handshake door(with_key(nullptr));
    const auto after_hello = fed(door, bytes_of(hello), step);
    REQUIRE(after_hello.ok());
    REQUIRE(*after_hello);
    CHECK((*after_hello)->hello == hello);
    CHECK_FALSE((*after_hello)->channel);
    CHECK(door.take_answer().empty());
  }
  SECTION("with TLS") {
    const auto mine = with_key(one_key);
    tls::channel dialler(mine, tls::channel::side::dials);
    peer_handshake door(mine);
    std::string out, nothing;
    dialler.take_output(out);
    REQUIRE(fed(door, out, step).ok());
    REQUIRE(dialler.feed(door.take_answer(), nothing).ok());
    REQUIRE(dialler.established());
    REQUIRE(dialler.write(words).ok());
    out.clear();
    dialler.take_output(out);
    auto after_hello = fed(door, out, step);
    REQUIRE(after_hello.ok());
    REQUIRE(*after_hello);
    CHECK((*after_hello)->hello == hello);
    CHECK((*after_hello)->after_hello == bytes_of(wire::gossip{}));
    REQUIRE((*after_hello)->channel);
    REQUIRE(dialler.write("more").ok());
    out.clear();
    dialler.take_output(out);
    std::string received;
    CHECK((*after_hello)->channel->feed(out, received).ok());
    CHECK(received == "more");
  }
}

TEST_CASE("a peer without a valid hello is rejected, with an alert where possible", "[peers]") {
  struct row {
    const char* name;
    const char* key;
    std::string bytes;
    const char* why;
    bool alert;
  };
  const row rows[] = {
      {"no TLS where it is demanded", one_key, bytes_of(hello_of("seven")), "does not use TLS", true},
      {"TLS where there is none", nullptr, std::string("\x16\x03\x01\x02\x00", 5), "neither a certificate nor", true},
      {"another frame", nullptr, bytes_of(wire::gossip{}), "is not a hello", false},
      {"HTTP", nullptr, "GET / HTTP/1.1\r\n\r\n", "does not speak this protocol", false},
      {"a hello that is too long", nullptr, bytes_of(hello_of(std::string(peer_handshake::hello_bytes_max, 'x'))),
       "does not speak this protocol", false},
      {"a hello that cannot be read", nullptr, std::string("\0\0\0\x05garba", 9), "", false},
  };
  for (const auto& r : rows) {
    CAPTURE(r.name);
    peer_handshake door(with_key(r.key));
    const auto after_hello = door.feed(r.bytes);
    REQUIRE_FALSE(after_hello.ok());
    CHECK(after_hello.error().find(r.why) != std::string::npos);
    CHECK(door.take_answer().starts_with("\x15\x03") == r.alert);
  }
}

TEST_CASE("a certificate of a client is none of a server, whatever signed it", "[peers]") {
  const tls::certificate_files files;
  const auto ca = tls::authority_named("ours");
  const auto server = tls::loaded(files.signed_by(ca, "server"));
  tls::channel dialler(tls::loaded(files.signed_by(ca, "client", "client.dc1.consul")), tls::channel::side::dials);
  peer_handshake door(server);
  std::string out, nothing;
  dialler.take_output(out);
  REQUIRE(door.feed(out).ok());
  REQUIRE(dialler.feed(door.take_answer(), nothing).ok());
  REQUIRE(dialler.write(bytes_of(hello_of("seven"))).ok());
  out.clear();
  dialler.take_output(out);
  const auto after_hello = door.feed(out);
  REQUIRE_FALSE(after_hello.ok());
  CHECK(after_hello.error() == "certificate of peer names client.dc1.consul, not server.dc1.consul");
}

// `belay tls cert create -client` makes an agent; HTTPS users' certificates (`-cli`) do not.
TEST_CASE("a certificate makes a client agent if it names one, or a server", "[peers][B3]") {
  const tls::certificate_files files;
  const auto ca = tls::authority_named("ours");
  const auto server = tls::loaded(files.signed_by(ca, "server"));
  const std::pair<const char*, bool> names[] = {{"client.dc1.consul", true}, {"server.dc1.consul", true},
                                                {"cli.dc1.consul", false},   {"client.dc2.consul", false},
                                                {"client.dc1.other", false}, {"x.client.dc1.consul", false},
                                                {"web1.example.com", false}};
  for (const auto& [name, may] : names) {
    CAPTURE(name);
    tls::channel dialler(tls::loaded(files.signed_by(ca, name, name)), tls::channel::side::dials);
    peer_handshake door(server);
    std::string out, nothing;
    dialler.take_output(out);
    REQUIRE(door.feed(out).ok());
    REQUIRE(dialler.feed(door.take_answer(), nothing).ok());
    auto hello = hello_of("seven");
    hello.client_agent = true;
    REQUIRE(dialler.write(bytes_of(hello)).ok());
    out.clear();
    dialler.take_output(out);
    const auto after_hello = door.feed(out);
    CHECK(after_hello.ok() == may);
    if (!after_hello)
      CHECK(after_hello.error() == "certificate of peer names " + std::string(name) + ", not client.dc1.consul");
  }
}
