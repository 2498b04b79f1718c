// Which peers may connect: the table of docs/operate/security.md, and the decisions of the server's code.

#include "sim/credentials/credential_model.hpp"
#include "sim/disks/simulated_disk.hpp"
#include "sim/environment/peer_doors.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::sim;

namespace {

const std::string one = "pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s=";
const std::string two = "QUJDREVGR0hJSktMTU5PUA==";
// About what the simulated wall clocks show at the beginning of a run.
constexpr std::int64_t now = 1'795'000'000;

credential_facts keyed(const std::string& key, bool incoming = true, bool outgoing = true) {
  credential_facts f;
  f.encrypt = {key};
  f.encrypt_verify_incoming = incoming;
  f.encrypt_verify_outgoing = outgoing;
  return f;
}

credential_facts certified(char authority = 'A', const std::string& name = "server.dc1.consul",
                           std::int64_t ends = now + 1'000'000) {
  credential_facts f;
  f.certificate = ordered_certificate{authority, name, now - 1'000'000, ends};
  f.authorities = {authority};
  f.verify_incoming = f.verify_outgoing = f.verify_server_hostname = true;
  return f;
}

credential_facts facts_with(credential_facts f, bool incoming, bool outgoing, const std::string& key = {}) {
  f.verify_incoming = incoming;
  f.verify_outgoing = f.verify_server_hostname = outgoing;
  if (!key.empty())
    f.encrypt = {key};
  return f;
}

credential_facts trusting(credential_facts f, std::set<char> authorities) {
  f.authorities = std::move(authorities);
  return f;
}

/// Two servers at time zero of a run, without their actors.
struct two_servers {
  tape choices{1, std::vector<tape_item>{}};
  event_trace trace{nullptr};
  schedule time{choices, trace};
  peer_doors doors{time, trace, 2};
  simulated_disk disks[2] = {simulated_disk(65536), simulated_disk(65536)};
  std::shared_ptr<simulated_clock> clocks[2] = {std::make_shared<simulated_clock>(time),
                                                std::make_shared<simulated_clock>(time)};

  void start(std::size_t node, const credential_facts& f) {
    doors.configure(node, f);
    start(node);
  }
  void start(std::size_t node) {
    const auto data = disks[node].files().make_directory(simulated_disk::data_directory);
    REQUIRE(data.ok());
    const auto started = doors.start(node, disks[node].files(), clocks[node]);
    INFO((started ? "" : started.error()));
    REQUIRE(started.ok());
  }
  void power_off(std::size_t node) {
    doors.ended(node);
    disks[node].files().lose_power(nothing_survives());
  }
  peer_doors::admission dial(bool as_agent = false) {
    wire::hello h;
    h.self = {node_id{1}, "uuid", "node-0", "10.0.0.1:8300"};
    h.datacenter = "dc1";
    h.client_agent = as_agent;
    return doors.let_in(0, 1, h);
  }
};

} // namespace

TEST_CASE("peers are accepted as documented, and as the server does", "[sim]") {
  struct row {
    const char* name;
    credential_facts dialler, accepter;
    const char* objection; ///< a part of it; empty: there is none
    bool encrypted = false;
  };
  const credential_facts open;
  const auto other_name = certified('A', "client.dc1.consul");
  const row rows[] = {
      {"nobody has anything", open, open, ""},
      {"a key", keyed(one), keyed(one), "", true},
      {"another key", keyed(one), keyed(two), "has no certificate"},
      {"no key", open, keyed(one), "demands credentials"},
      {"no key, which is not demanded", open, keyed(one, false), ""},
      {"a key that is not used", keyed(one, false, false), open, ""},
      {"a key, where nobody has one", keyed(one, false), open, "has no certificate"},
      {"certificates", certified(), certified(), "", true},
      {"certificates of another authority", trusting(certified('B'), {'A', 'B'}), certified(),
       "dialling side has a certificate of another authority"},
      {"the accepting side has one of another authority", certified(), trusting(certified('B'), {'A', 'B'}),
       "accepting side has a certificate of another authority"},
      {"both authorities are known", trusting(certified('A'), {'A', 'B'}), trusting(certified('B'), {'A', 'B'}), "",
       true},
      {"expired", certified('A', "server.dc1.consul", now - 1), certified(),
       "dialling side has a certificate that has"},
      {"expired at the accepting side", certified(), certified('A', "server.dc1.consul", now - 1),
       "accepting side has a certificate that has"},
      {"a client's", other_name, certified(), "names client.dc1.consul"},
      {"a client's at the accepting side", certified(), other_name, "names client.dc1.consul"},
      {"the same, if the dialling side does not look",
       [] {
         auto f = certified();
         f.verify_server_hostname = false;
         return f;
       }(),
       other_name, "", true},
      {"a key where certificates are demanded", keyed(one), certified(), "accepting side has a certificate of another"},
      {"both kinds: the key", facts_with(certified(), false, false, one), keyed(one), "", true},
      {"both kinds: the certificate", facts_with(certified(), false, true, one),
       facts_with(certified(), false, false, one), "", true},
      {"both kinds: it is demanded", facts_with(certified(), false, true, one), certified(), "", true},
      {"both kinds, other keys: the certificates are left", facts_with(certified(), false, false, one),
       facts_with(certified(), false, false, two), "", true},
      {"nothing, where certificates are known and not demanded", open, facts_with(certified(), false, true), ""},
      {"nothing, where they are demanded", open, certified(), "demands credentials"},
  };
  for (const auto& r : rows) {
    CAPTURE(r.name);
    const auto expected = expect_admission(r.dialler, now, r.accepter, now);
    CAPTURE(expected.objection);
    CHECK(expected.objection.empty() == (*r.objection == 0));
    CHECK(expected.objection.find(r.objection) != std::string::npos);
    if (expected.objection.empty())
      CHECK(expected.encrypted == r.encrypted);
    two_servers both;
    both.doors.orderly = false;
    both.start(0, r.dialler);
    both.start(1, r.accepter);
    const auto response = both.dial();
    CAPTURE(response.why);
    CHECK(response.in == expected.objection.empty());
    CHECK_FALSE(both.doors.complaint());
  }
}

// A client agent's certificate need not name a server, but all else must be right.
TEST_CASE("a client agent is accepted with a certificate of any name", "[sim]") {
  const auto other_name = certified('A', "client.dc1.consul");
  const struct {
    credential_facts dialler, accepter;
    bool in;
  } rows[] = {
      {other_name, certified(), true},
      {certified(), certified(), true},
      {trusting(certified('B', "client.dc1.consul"), {'A', 'B'}), certified(), false},
      {certified('A', "client.dc1.consul", now - 1), certified(), false},
      {certified(), other_name, false}, // the accepting side must be a server
      {keyed(one), keyed(one), true},
      {keyed(one), keyed(two), false},
      {{}, certified(), false},
      {{}, keyed(one), false},
  };
  for (const auto& r : rows) {
    CAPTURE(&r - rows);
    const auto expected = expect_admission(r.dialler, now, r.accepter, now, dials_as::client_agent);
    CAPTURE(expected.objection);
    CHECK(expected.objection.empty() == r.in);
    two_servers both;
    both.doors.orderly = false;
    both.start(0, r.dialler);
    both.start(1, r.accepter);
    CHECK(both.dial(true).in == r.in);
    CHECK_FALSE(both.doors.complaint());
  }
}

TEST_CASE("a certificate expires by the clock of the checking side, to the second", "[sim]") {
  two_servers both;
  both.doors.orderly = false;
  const auto wall = static_cast<std::int64_t>(both.clocks[1]->wall().value / 1000);
  both.start(1, certified());
  for (const std::int64_t ends : {wall + 2, wall + 1, wall}) {
    both.start(0, certified('A', "server.dc1.consul", ends));
    CHECK(both.dial().in == (ends > wall));
    both.doors.ended(0);
  }
  both.start(0, certified('A', "server.dc1.consul", wall + 1));
  both.clocks[1]->set_wall(1000);
  CHECK(both.dial().why.find("certificate of peer has expired") != std::string::npos);
  CHECK_FALSE(both.doors.complaint());
}

TEST_CASE("an operation that was reported to an operator as done is in the keyring after a power loss", "[sim]") {
  two_servers both;
  both.start(0, keyed(one));
  both.start(1, keyed(one));
  using forward::keyring_verb;
  for (const auto verb : {keyring_verb::install, keyring_verb::use, keyring_verb::remove}) {
    CHECK(both.doors.operate(1, {verb, verb == keyring_verb::remove ? one : two}).ok);
    both.power_off(1);
    both.start(1);
    INFO((both.doors.complaint() ? both.doors.complaint()->second : ""));
    REQUIRE_FALSE(both.doors.complaint());
  }
  CHECK(both.doors.keyring_is(1, {two}));
  // The other one has the old key and is rejected, which violates the documented order.
  CHECK_FALSE(both.dial().in);
  REQUIRE(both.doors.complaint());
  CHECK(both.doors.complaint()->second.find("n1 refuses n0") == 0);
}

TEST_CASE("a keyring whose write was cut off is the previous or the next one", "[sim]") {
  for (std::uint64_t calls = 1; calls <= 7; ++calls) {
    CAPTURE(calls);
    two_servers both;
    both.start(0, keyed(one));
    both.disks[0].files().stop_after(calls, 1u << 15);
    (void)both.doors.operate(0, {forward::keyring_verb::install, two});
    both.power_off(0);
    both.start(0);
    CHECK_FALSE(both.doors.complaint());
    CHECK(both.doors.has_key(0, one));
  }
}
