// Two ends of a TLS connection in memory: which handshakes succeed, and the errors on each side.

#include "actors/tls/channel.hpp"
#include "tests/unit/actors/tls/certificate_files.hpp"

#include <catch2/catch.hpp>

#include <random>

using namespace belay;
using namespace belay::tls;

namespace {

const char* const key_a = "pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s=";
const char* const key_b = "QUJDREVGR0hJSktMTU5PUA==";

credential_settings with_keys(std::vector<std::string> keys) {
  credential_settings s;
  s.encrypt = std::move(keys);
  return s;
}

/// Both ends, and the result of their handshake.
struct pair_of_ends {
  pair_of_ends(const credential_settings& dialling, const credential_settings& accepting, std::size_t step = 1 << 20)
      : dialler(loaded(dialling), channel::side::dials), accepter(loaded(accepting), channel::side::accepts) {
    for (int round = 0; round < 6; ++round) {
      carry(dialler, accepter, accepter_sent, accepter_received, step);
      carry(accepter, dialler, dialler_sent, dialler_received, step);
    }
  }
  bool both_established() const { return dialler.established() && accepter.established(); }
  void send_from_dialler(const std::string& text) {
    REQUIRE(dialler.write(text).ok());
    carry(dialler, accepter, accepter_sent, accepter_received, 1 << 20);
  }

  static void carry(channel& from, channel& to, std::string& complaint, std::string& received, std::size_t step) {
    std::string bytes;
    from.take_output(bytes);
    for (std::size_t at = 0; at < bytes.size(); at += step)
      if (auto s = to.feed(std::string_view(bytes).substr(at, step), received); !s && complaint.empty())
        complaint = s.error();
  }

  channel dialler, accepter;
  std::string dialler_sent, accepter_sent; ///< errors
  std::string dialler_received, accepter_received;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("which credentials are accepted, and what is known about the peer", "[tls]") {
  const certificate_files files;
  const auto ca = authority_named("ours");
  const auto server = files.signed_by(ca, "server");
  auto client = files.signed_by(ca, "client", "client.dc1.consul");
  auto named = server;
  named.verify_server_hostname = true;
  auto both_kinds = server;
  both_kinds.encrypt = {key_a};
  both_kinds.verify_incoming = both_kinds.verify_outgoing = false;
  auto leaving_keys = both_kinds; // the step at which keys are no longer sent, but still accepted
  leaving_keys.verify_outgoing = true;
  struct row {
    const char* name;
    credential_settings dialling, accepting;
    bool by_key, may_be_raft_peer;
  };
  const row rows[] = {
      {"certificates", server, server, false, true},
      {"the name is asked for", named, named, false, true},
      {"a client's certificate", client, server, false, false},
      {"one key", with_keys({key_a}), with_keys({key_a}), true, true},
      {"a key of 16 bytes", with_keys({key_b}), with_keys({key_b}), true, true},
      {"the accepting side has two, the first is meant", with_keys({key_a}), with_keys({key_a, key_b}), true, true},
      {"the accepting side has two, the second is meant", with_keys({key_b}), with_keys({key_a, key_b}), true, true},
      {"from keys to certificates: only the dialler has them", both_kinds, with_keys({key_a}), true, true},
      {"from keys to certificates: only the accepter has them", with_keys({key_a}), both_kinds, true, true},
      {"from keys to certificates: both have them", both_kinds, both_kinds, true, true},
      {"from keys to certificates: keys are not offered any more", leaving_keys, both_kinds, false, true},
      {"from keys to certificates: certificates are demanded by one", leaving_keys, server, false, true},
  };
  for (const auto& r : rows) {
    CAPTURE(r.name);
    pair_of_ends ends(r.dialling, r.accepting);
    CHECK(ends.dialler_sent == "");
    CHECK(ends.accepter_sent == "");
    REQUIRE(ends.both_established());
    CHECK(ends.accepter.peer().by_key == r.by_key);
    CHECK(ends.accepter.peer().may_be_raft_peer == r.may_be_raft_peer);
    ends.send_from_dialler("hello");
    CHECK(ends.accepter_received == "hello");
  }
}

TEST_CASE("a rejected peer gets the reason, and so does the rejecting side", "[tls]") {
  const certificate_files files;
  const auto ca = authority_named("ours");
  const auto other_ca = authority_named("theirs");
  const auto server = files.signed_by(ca, "server");
  const auto foreign = files.signed_by(other_ca, "foreign");
  const auto expired =
      files.signed_by(ca, "expired", "server.dc1.consul", {std::chrono::hours(-1), std::chrono::hours(-1) / 2});
  const auto early = files.signed_by(ca, "early", "server.dc1.consul", {std::chrono::hours(1), std::chrono::hours(2)});
  auto named = server;
  named.verify_server_hostname = true;
  const auto elsewhere = files.signed_by(ca, "elsewhere", "server.dc2.consul");
  auto foreign_trusts_us = foreign;
  foreign_trusts_us.ca_file = server.ca_file;
  struct row {
    const char* name;
    credential_settings dialling, accepting;
    const char *dialler, *accepter; ///< parts of the errors
  };
  const row rows[] = {
      {"the dialler knows another CA", foreign, server, "certificate of peer is not signed by ca_file",
       "peer rejected this server's certificate: it is not signed by the peer's ca_file"},
      {"the accepter knows another CA", foreign_trusts_us, server,
       "peer rejected this server's certificate: it is not signed by the peer's ca_file",
       "certificate of peer is not signed by ca_file"},
      {"expired at the accepter", server, expired, "certificate of peer has expired",
       "this server's certificate: it has expired"},
      {"expired at the dialler", expired, server, "this server's certificate: it has expired",
       "certificate of peer has expired"},
      {"not valid yet", early, server, "peer rejected this server", "not valid yet"},
      {"another datacenter's server", named, elsewhere, "names server.dc2.consul, not server.dc1.consul",
       "peer rejected this server"},
      {"another key", with_keys({key_a}), with_keys({key_b}),
       "peer rejected this server: it does not accept this server's encrypt key", "peer has another encrypt key"},
      {"a key where certificates are demanded", with_keys({key_a}), server,
       "peer does not have this server's encrypt key", "peer has only an encrypt key"},
      {"a certificate where there are only keys", server, with_keys({key_a}),
       "peer rejected this server: it does not accept this server's certificate",
       "peer has no encrypt key, and this server has no certificate"},
  };
  for (const auto& r : rows) {
    CAPTURE(r.name);
    pair_of_ends ends(r.dialling, r.accepting);
    CHECK_FALSE(ends.accepter.established());
    CAPTURE(ends.dialler_sent, ends.accepter_sent);
    CHECK(contains(ends.dialler_sent, r.dialler));
    CHECK(contains(ends.accepter_sent, r.accepter));
    CHECK(ends.accepter_received == "");
    std::string received;
    CHECK_FALSE(ends.accepter.feed("x", received).ok()); // permanently
  }
}

TEST_CASE("a peer without a certificate is refused", "[tls]") {
  // It trusts the CA, as every HTTPS client does. That proves nothing.
  const certificate_files files;
  const auto ca = authority_named("ours");
  const auto server = files.signed_by(ca, "server");
  credential_settings bare;
  bare.ca_file = server.ca_file;
  pair_of_ends ends(bare, server);
  CHECK_FALSE(ends.accepter.established());
  CHECK(contains(ends.accepter_sent, "peer has no certificate"));
  CHECK(contains(ends.dialler_sent, "peer rejected this server: it requires a certificate"));
}

TEST_CASE("bytes may arrive one by one", "[tls]") {
  const certificate_files files;
  const auto server = files.signed_by(authority_named("ours"), "server");
  for (const auto& s : {server, with_keys({key_a})}) {
    pair_of_ends ends(s, s, 1);
    REQUIRE(ends.both_established());
    ends.send_from_dialler("hello");
    CHECK(ends.accepter_received == "hello");
  }
}

TEST_CASE("data after the handshake arrives, in whatever pieces", "[tls]") {
  pair_of_ends ends(with_keys({key_a}), with_keys({key_a}));
  REQUIRE(ends.both_established());
  std::string large(5'000'000, '\0');
  std::minstd_rand chance(1);
  for (auto& c : large)
    c = static_cast<char>(chance());
  REQUIRE(ends.dialler.write(large).ok());
  std::string wire;
  ends.dialler.take_output(wire);
  CHECK(wire.find(large.substr(1000, 16)) == std::string::npos); // it is encrypted
  std::string received;
  for (std::size_t at = 0; at < wire.size();) {
    const auto step = 1 + chance() % 100'000;
    REQUIRE(ends.accepter.feed(std::string_view(wire).substr(at, step), received).ok());
    at += step;
  }
  CHECK(received == large);
}

TEST_CASE("the first frame may arrive in the same bytes as the end of the handshake", "[tls]") {
  channel dialler(loaded(with_keys({key_a})), channel::side::dials);
  channel accepter(loaded(with_keys({key_a})), channel::side::accepts);
  std::string bytes, received;
  dialler.take_output(bytes);
  REQUIRE(accepter.feed(bytes, received).ok());
  bytes.clear();
  accepter.take_output(bytes);
  REQUIRE(dialler.feed(bytes, received).ok());
  REQUIRE(dialler.established());
  REQUIRE_FALSE(accepter.established());
  REQUIRE(dialler.write("hello").ok());
  bytes.clear();
  dialler.take_output(bytes);
  REQUIRE(accepter.feed(bytes, received).ok());
  CHECK(accepter.established());
  CHECK(received == "hello");
  bytes.clear();
  accepter.take_output(bytes);
  CHECK(bytes == ""); // no tickets: accepting sends nothing (docs/internals/adr/0002)
}

TEST_CASE("garbage ends a connection, and a handshake without end, too", "[tls]") {
  const auto mine = loaded(with_keys({key_a}));
  std::minstd_rand chance(7);
  for (int i = 0; i < 200; ++i) {
    channel accepter(mine, channel::side::accepts);
    std::string bytes(1 + chance() % 5000, '\0'), received;
    for (auto& c : bytes)
      c = static_cast<char>(chance());
    if (i % 2 == 0)
      bytes.replace(0, std::min<std::size_t>(5, bytes.size()), std::string("\x16\x03\x01\x02\x00", 5), 0, bytes.size());
    (void)accepter.feed(bytes, received);
    CHECK_FALSE(accepter.established());
    CHECK(received == "");
  }
  // Records of a hello that claims a length of 16 MB: each is well formed, and none is the last.
  channel accepter(mine, channel::side::accepts);
  std::string received, record("\x16\x03\x01\x10\x00", 5);
  record += std::string("\x01\xff\xff\xff", 4) + std::string(4096 - 4, 'x');
  std::size_t fed = 0;
  while (fed < (1u << 20) && accepter.feed(record, received).ok()) {
    fed += record.size();
    record = std::string("\x16\x03\x03\x10\x00", 5) + std::string(4096, 'x');
  }
  CHECK(fed <= handshake_bytes_max);
}

TEST_CASE("a changed byte after the handshake is noticed", "[tls]") {
  pair_of_ends ends(with_keys({key_a}), with_keys({key_a}));
  REQUIRE(ends.both_established());
  REQUIRE(ends.dialler.write("hello").ok());
  std::string wire, received;
  ends.dialler.take_output(wire);
  wire[wire.size() - 3] ^= 1;
  CHECK_FALSE(ends.accepter.feed(wire, received).ok());
  CHECK(received == "");
}
