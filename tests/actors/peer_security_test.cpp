// Which connections count as peers: by a key, by a certificate, and during a change.

#include "tests/actors/link_fixture.hpp"
#include "tests/unit/actors/tls/certificate_files.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;
using namespace belay::link_test;

namespace {

const char* const one_key = "pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s=";
const char* const another_key = "QUJDREVGR0hJSktMTU5PUA==";

using store_ptr = std::shared_ptr<tls::credential_store>;

store_ptr store_of(const tls::credential_settings& s) {
  return std::make_shared<tls::credential_store>(tls::loaded(s));
}

peer_link_settings with(const store_ptr& s) {
  peer_link_settings l;
  l.credentials = s;
  return l;
}

tls::credential_settings keyed(const char* text, bool outgoing = true, bool incoming = true) {
  tls::credential_settings s;
  s.encrypt = {text};
  s.encrypt_verify_outgoing = outgoing;
  s.encrypt_verify_incoming = incoming;
  return s;
}

bool meet(link_end& a, link_end& b) {
  a.dial({b.address()});
  b.dial({a.address()});
  return soon([&] {
    return a.times_connected(b.id()) > 0 && b.times_connected(a.id()) > 0 && a.hellos_from(b.id()) > 0 &&
           b.hellos_from(a.id()) > 0;
  });
}

} // namespace

TEST_CASE("frames arrive in order between peers with credentials", "[actors][peer_link][tls]") {
  const tls::certificate_files files;
  auto certificates = files.signed_by(tls::authority_named("ours"), "server");
  certificates.verify_server_hostname = true;
  for (const auto& s : {keyed(one_key), certificates}) {
    link_fixture f;
    link_end a(f, node_id{1}, 0, with(store_of(s)));
    link_end b(f, node_id{2}, 0, with(store_of(s)));
    REQUIRE(meet(a, b));
    for (std::uint64_t i = 0; i < 50; ++i) {
      a.send_numbers(b.id(), i * 100, 100);
      b.send_numbers(a.id(), i * 10, 10);
    }
    REQUIRE(soon([&] { return b.numbers_from(a.id()).size() >= 5000 && a.numbers_from(b.id()).size() >= 500; }));
    CHECK(b.numbers_from(a.id()) == counted(0, 5000));
    CHECK(a.numbers_from(b.id()) == counted(0, 500));
    CHECK(a.times_lost(b.id()) == 0);

    std::string big(8'000'000, 'x'); // more than a socket's buffers hold
    raft::entry e;
    e.index = log_index{1};
    e.term = term_id{1};
    e.kind = raft::entry_kind::command;
    e.data = make_payload(big);
    raft::append_entries append;
    append.entries.push_back(e);
    send_frames large;
    large.list.emplace_back(b.id(), raft::message{a.id(), b.id(), term_id{1}, append});
    a.post(large);
    a.send_numbers(b.id(), 5000, 1);
    REQUIRE(soon([&] { return b.numbers_from(a.id()).size() == 5001; }));
    CHECK(b.entry_bytes_from(a.id()) == big);
  }
}

TEST_CASE("a peer with wrong credentials is not accepted", "[actors][peer_link][tls]") {
  const tls::certificate_files files;
  const auto ours = tls::authority_named("ours");
  const auto server = files.signed_by(ours, "server");
  const auto client = files.signed_by(ours, "client", "client.dc1.consul");
  const auto foreign = files.signed_by(tls::authority_named("theirs"), "foreign");
  struct row {
    const char* name;
    tls::credential_settings inside, outside;
  };
  for (const auto& r : {
           row{"another key", keyed(one_key), keyed(another_key)},
           row{"no credentials where a key is demanded", keyed(one_key), {}},
           row{"a key where nobody has one", {}, keyed(one_key)},
           row{"no credentials where certificates are demanded", server, {}},
           row{"another CA", server, foreign},
           row{"a key where certificates are demanded", server, keyed(one_key)},
           row{"a client's certificate", server, client},
       }) {
    CAPTURE(r.name);
    link_fixture f;
    link_end a(f, node_id{1}, 0, with(store_of(r.inside)));
    link_end b(f, node_id{2}, 0, with(store_of(r.inside)));
    link_end outsider(f, node_id{9}, 0, with(store_of(r.outside)));
    outsider.dial({a.address()});
    REQUIRE(meet(a, b));
    outsider.send_numbers(a.id(), 1, 3);
    // Some more attempts: it dials again after 20 ms, then at growing intervals.
    for (std::uint64_t round = 0; round < 10; ++round) {
      a.send_numbers(b.id(), round, 1);
      REQUIRE(soon([&] { return b.numbers_from(a.id()).size() == round + 1; }));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    CHECK(a.hellos_from(outsider.id()) == 0);
    CHECK(a.numbers_from(outsider.id()).empty());
    CHECK(a.times_lost(b.id()) == 0);
  }
}

TEST_CASE("from open to a key, and from the key to certificates, one server after another",
          "[actors][peer_link][tls]") {
  // Each line of the two lists in docs/operate/security.md is applied to one server, then to the other. At
  // every moment both can communicate over new connections; each is restarted when it changes.
  const tls::certificate_files files;
  auto both = files.signed_by(tls::authority_named("ours"), "server");
  both.verify_incoming = both.verify_outgoing = false;
  both.encrypt = {one_key};
  auto dials_with_certificate = both;
  dials_with_certificate.verify_server_hostname = true;
  auto demands_certificate = dials_with_certificate;
  demands_certificate.verify_incoming = true;
  auto without_key = demands_certificate;
  without_key.encrypt.clear();
  const tls::credential_settings steps[] = {
      {},   keyed(one_key, false, false), keyed(one_key, true, false), keyed(one_key),
      both, dials_with_certificate,       demands_certificate,         without_key};
  link_fixture f;
  for (std::size_t i = 0; i + 1 < std::size(steps); ++i) {
    CAPTURE(i);
    link_end ahead(f, node_id{1}, 0, with(store_of(steps[i + 1])));
    link_end behind(f, node_id{2}, 0, with(store_of(steps[i])));
    CHECK(meet(ahead, behind));
  }
}

TEST_CASE("a reload counts for new connections, and ends none", "[actors][peer_link][tls]") {
  const auto store_a = store_of(keyed(one_key)), store_b = store_of(keyed(one_key));
  link_fixture f;
  link_end a(f, node_id{1}, 0, with(store_a));
  link_end b(f, node_id{2}, 0, with(store_b));
  REQUIRE(meet(a, b));
  store_b->replace(tls::loaded(keyed(another_key)));
  a.send_numbers(b.id(), 1, 3);
  b.send_numbers(a.id(), 1, 3);
  REQUIRE(soon([&] { return b.numbers_from(a.id()).size() == 3 && a.numbers_from(b.id()).size() == 3; }));
  CHECK(a.times_lost(b.id()) == 0);
  link_end c(f, node_id{3}, 0, with(store_of(keyed(another_key))));
  CHECK(meet(b, c));
  c.dial({a.address(), b.address()});
  c.send_numbers(b.id(), 7, 1);
  REQUIRE(soon([&] { return b.numbers_from(c.id()).size() == 1; }));
  CHECK(a.hellos_from(c.id()) == 0);
}

TEST_CASE("frames about keys use only encrypted connections, and carry whether the peer has authenticated",
          "[actors][peer_link][tls][keyring]") {
  const tls::certificate_files files;
  const auto certificate = files.signed_by(tls::authority_named("ours"), "server");
  auto dials_with_it = certificate;
  dials_with_it.verify_outgoing = true;
  struct row {
    const char* name;
    tls::credential_settings a, b;
    bool encrypted; ///< from a to b
  };
  for (const auto& r : {
           row{"a key", keyed(one_key), keyed(one_key), true},
           row{"certificates", dials_with_it, certificate, true},
           row{"nothing", {}, {}, false},
           row{"a key that is known and not used", keyed(one_key, false, false), keyed(one_key, true, false), false},
       }) {
    CAPTURE(r.name);
    link_fixture f;
    link_end a(f, node_id{1}, 0, with(store_of(r.a)));
    link_end b(f, node_id{2}, 0, with(store_of(r.b)));
    REQUIRE(meet(a, b));
    CHECK(a.is_encrypted(b.id()) == r.encrypted);
    CHECK(b.is_proven(a.id()) == r.encrypted);
    a.post(send_frames{{{b.id(), wire::keyring_call{request_id{1}, {forward::keyring_verb::install, another_key}}}}});
    a.send_numbers(b.id(), 1, 1);
    REQUIRE(soon([&] { return b.numbers_from(a.id()).size() == 1; }));
    CHECK(b.keyring_calls_from(a.id()) == (r.encrypted ? 1u : 0u));
  }
}
