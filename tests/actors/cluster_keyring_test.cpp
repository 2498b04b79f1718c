// An operator lists, installs, uses and removes keys on all servers by one request
// (docs/operate/security.md), with three nodes. One server: tests/unit/protocol/forward/keyring_test.cpp.

#include "actors/node/disk/peer_keyring.hpp"
#include "tests/actors/cluster_fixture.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using forward::keyring_verb;

namespace {

const std::string one = "pUqJrVyVRj5jsiYEkM/tFQYfWyJIv4s3XkvDwy7Cu5s=";
const std::string two = "QUJDREVGR0hJSktMTU5PUA==";

using keys = std::vector<std::string>;

cluster_options with_keys(keys k) {
  cluster_options o;
  o.keys = std::move(k);
  return o;
}

/// Empty for success, the JSON of a list, or the error.
std::string operated(cluster_fixture& c, std::size_t node, keyring_verb verb, const std::string& key = {}) {
  const auto r = c.written(c.operate_keys(node, {verb, key}));
  if (r.outcome != wire::call_outcome::done)
    return r.text;
  const auto* text = std::get_if<std::string>(&r.reply);
  return text != nullptr ? *text : "";
}

std::string complaint(const std::string& pool, const std::string& lines) {
  return std::to_string(1 + std::count(lines.begin(), lines.end(), '*')) +
         " errors occurred:\n\t* dc1 (LAN) error: " + pool + "\n" + lines + "\n";
}

} // namespace

TEST_CASE("a key is replaced on all servers through any of them, without a disconnect", "[actors][keyring]") {
  cluster_fixture c(with_keys({one}));
  const auto term = c.view(c.leader()).soft.term;
  const auto at = static_cast<std::size_t>(GENERATE(0, 1, 2));
  CHECK(operated(c, at, keyring_verb::install, two).empty());
  CHECK(operated(c, at, keyring_verb::list) == R"([{"WAN":false,"Datacenter":"dc1","Segment":"","Keys":{")" + two +
                                                   R"(":3,")" + one + R"(":3},"PrimaryKeys":{")" + one +
                                                   R"(":3},"NumNodes":3}])");
  CHECK(operated(c, at, keyring_verb::remove, one).find("3/3 nodes reported failure") != std::string::npos);
  CHECK(operated(c, at, keyring_verb::use, two).empty());
  CHECK(operated(c, at, keyring_verb::remove, one).empty());
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(c.keys(i) == keys{two});
  CHECK(c.view(c.leader()).soft.term == term);
}

TEST_CASE("a rotation needs no leader", "[actors][keyring]") {
  cluster_fixture c(with_keys({one}));
  c.leader();
  c.net().filter = [](std::size_t, std::size_t, const wire::frame& f) {
    return !std::holds_alternative<raft::message>(f);
  };
  REQUIRE(c.until([&] { return c.view(0).soft.leader.is_zero() && c.view(1).soft.leader.is_zero(); }));
  CHECK(operated(c, 0, keyring_verb::install, two).empty());
  CHECK(c.keys(2) == keys{one, two});
}

TEST_CASE("a member that does not carry out the operation is named, and the others have carried it out",
          "[actors][keyring]") {
  cluster_fixture c(with_keys({one}));
  c.leader();
  SECTION("it refuses") {
    c.keys(1) = {two};
    CHECK(operated(c, 0, keyring_verb::use, two) == complaint("2/3 nodes reported failure",
                                                              "\t* node-0: Requested key is not in the keyring\n"
                                                              "\t* node-2: Requested key is not in the keyring\n"));
  }
  SECTION("it is not there") {
    c.crash(1);
    CHECK(operated(c, 0, keyring_verb::install, two) ==
          complaint("2/3 nodes reported success", "\t* node-1: not connected\n"));
    CHECK(c.keys(2) == keys{one, two});
  }
  SECTION("it goes away before it answers") {
    c.net().filter = [](std::size_t from, std::size_t, const wire::frame& f) {
      return from != 1 || !std::holds_alternative<wire::keyring_reply>(f);
    };
    const auto requested = c.operate_keys(0, {keyring_verb::install, two});
    c.pass(milliseconds(50));
    CHECK_FALSE(c.answered(requested));
    c.crash(1);
    CHECK(c.written(requested).text ==
          complaint("2/3 nodes reported success", "\t* node-1: its connection was lost before it responded\n"));
  }
  SECTION("it is silent") {
    c.net().filter = [](std::size_t from, std::size_t, const wire::frame& f) {
      return from != 1 || !std::holds_alternative<wire::keyring_reply>(f);
    };
    CHECK(operated(c, 0, keyring_verb::install, two) ==
          complaint("2/3 nodes reported success", "\t* node-1: no response in time\n"));
  }
  SECTION("its version does not support keyrings: it is not sent a frame that would end the connection") {
    const wire::hello older{c.member(1), "dc1", c.cluster_id(1), 3, {}, state::keyring_level - 1};
    c.net().inject(1, 0, older);
    c.settle();
    bool sent = false;
    c.net().filter = [&](std::size_t, std::size_t to, const wire::frame& f) {
      sent = sent || (to == 1 && std::holds_alternative<wire::keyring_call>(f));
      return true;
    };
    const auto response = operated(c, 0, keyring_verb::install, two);
    CHECK(response.find("2/3 nodes reported success") != std::string::npos);
    CHECK(response.find("\t* node-1: its version does not support this operation: install Belay ") !=
          std::string::npos);
    CHECK_FALSE(sent);
    CHECK(c.keys(1) == keys{one});
  }
}

TEST_CASE("without encryption the answer is Consul's", "[actors][keyring]") {
  cluster_fixture c;
  c.leader();
  const auto all = [](const std::string& why) {
    return complaint("3/3 nodes reported failure",
                     "\t* node-0: " + why + "\n\t* node-1: " + why + "\n\t* node-2: " + why + "\n");
  };
  CHECK(operated(c, 0, keyring_verb::list) == all("Keyring is empty (encryption not enabled)"));
  for (const auto verb : {keyring_verb::install, keyring_verb::use, keyring_verb::remove})
    CHECK(operated(c, 0, verb, one) == all("No keyring to modify (encryption not enabled)"));
}

TEST_CASE("keys are not sent unencrypted, and only to peers that have authenticated", "[actors][keyring]") {
  cluster_fixture c(with_keys({one}));
  c.leader();
  SECTION("a server that is still dialled without a key") {
    c.net().credentials = false;
    c.net().reconnect(0, 1);
    c.pass(milliseconds(100));
    bool sent = false;
    c.net().filter = [&](std::size_t, std::size_t to, const wire::frame& f) {
      sent = sent || (to == 1 && std::holds_alternative<wire::keyring_call>(f));
      return true;
    };
    c.net().credentials = true; // the peer's claims are authenticated
    CHECK(operated(c, 0, keyring_verb::install, two) ==
          complaint("2/3 nodes reported success",
                    "\t* node-1: the connection to it is not encrypted, and keys are never sent unencrypted\n"));
    CHECK_FALSE(sent);
  }
  SECTION("an unauthenticated peer with a member's id") {
    std::size_t replies = 0;
    c.net().filter = [&](std::size_t, std::size_t, const wire::frame& f) {
      replies += std::holds_alternative<wire::keyring_reply>(f) ? 1 : 0;
      return true;
    };
    const bool proven = GENERATE(false, true);
    c.net().credentials = proven;
    c.net().inject(1, 0, wire::keyring_call{request_id{77}, {keyring_verb::list, ""}});
    c.net().inject(1, 0, wire::keyring_call{request_id{78}, {keyring_verb::install, two}});
    c.settle();
    CHECK(replies == (proven ? 2u : 0u));
    CHECK(c.keys(0) == (proven ? keys{one, two} : keys{one}));
  }
}
