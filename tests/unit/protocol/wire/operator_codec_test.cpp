// Operators' calls between nodes: the bytes of every earlier version; malformed ones fail.

#include "protocol/wire/operator_codec.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using forward::call_kind;
using forward::describe_health;
using forward::remove_member;
using named_by = forward::remove_member::named_by;

namespace {

bool refused(call_kind kind, std::string_view bytes) {
  return !wire::decode_operator_call(kind, bytes);
}

} // namespace

TEST_CASE("a removal names the server by its id or its address") {
  struct row {
    remove_member call;
    const char* bytes;
  };
  const row rows[] = {
      {{named_by::id, "0f8fad5b-d9cb-469f-a165-70867728950e"}, "id 0f8fad5b-d9cb-469f-a165-70867728950e"},
      {{named_by::address, "127.0.0.1:8300"}, "address 127.0.0.1:8300"},
      {{named_by::id, ""}, "id "},                       // ?id without a value
      {{named_by::address, "a b  c"}, "address a b  c"}, // whatever the operator typed
  };
  for (const auto& r : rows) {
    INFO(r.bytes);
    CHECK(wire::encode_operator_call(r.call) == r.bytes);
    const auto back = wire::decode_operator_call(call_kind::remove_member, r.bytes);
    REQUIRE(back);
    CHECK(std::get<remove_member>(*back).by == r.call.by);
    CHECK(std::get<remove_member>(*back).name == r.call.name);
  }
  const auto add = wire::decode_operator_call(call_kind::remove_member,
                                              wire::encode_operator_call(forward::add_member{"10.0.0.4:8300"}));
  REQUIRE(add);
  CHECK(std::get<forward::add_member>(*add).address == "10.0.0.4:8300");
  const forward::add_member by_id{{}, "b31a9000-0000-4000-8000-000000000001"};
  CHECK(wire::encode_operator_call(by_id) == "add id b31a9000-0000-4000-8000-000000000001");
  const auto back = wire::decode_operator_call(call_kind::remove_member, wire::encode_operator_call(by_id));
  REQUIRE(back);
  CHECK(std::get<forward::add_member>(*back).id == by_id.id);
  CHECK(std::get<forward::add_member>(*back).address.empty());
  CHECK(wire::encode_operator_call(forward::let_leave{by_id.id}) == "leave " + by_id.id);
  const auto leaves = wire::decode_operator_call(call_kind::remove_member, "leave " + by_id.id);
  REQUIRE(leaves);
  CHECK(std::get<forward::let_leave>(*leaves).id == by_id.id);
  CHECK(wire::encode_operator_call(forward::force_leave{"n 1"}) == "force-leave n 1");
  const auto forced = wire::decode_operator_call(call_kind::remove_member, "force-leave n 1");
  REQUIRE(forced);
  CHECK(std::get<forward::force_leave>(*forced).name == "n 1");
  for (const auto* bytes : {"", "id", "address", "add", "ID x", "name x", " id x", "leave", "force-leave"}) {
    INFO(bytes);
    CHECK(refused(call_kind::remove_member, bytes));
  }
}

TEST_CASE("the request for the servers' health has the settings that define it") {
  struct row {
    describe_health call;
    const char* bytes;
  };
  const row rows[] = {
      {{200'000'000, 250, "1.8.7"}, "200000000 250 1.8.7"},
      {{-1, 0, ""}, "-1 0 "},
      {{0, ~0ULL, "v"}, "0 18446744073709551615 v"},
  };
  for (const auto& r : rows) {
    INFO(r.bytes);
    CHECK(wire::encode_operator_call(r.call) == r.bytes);
    const auto back = wire::decode_operator_call(call_kind::describe_health, r.bytes);
    REQUIRE(back);
    const auto& d = std::get<describe_health>(*back);
    CHECK(d.last_contact_threshold_ns == r.call.last_contact_threshold_ns);
    CHECK(d.max_trailing_logs == r.call.max_trailing_logs);
    CHECK(d.version == r.call.version);
  }
  for (const auto* bytes : {"", "1", "1 2", "x 2 v", "1 -2 v", "1  2 v", " 1 2 v", "1 2 v w", "1 2 v ",
                            "9223372036854775808 2 v", "1 18446744073709551616 v"}) {
    INFO(bytes);
    CHECK(refused(call_kind::describe_health, bytes));
  }
}

TEST_CASE("other calls are no operators' calls") {
  CHECK(refused(call_kind::propose, "id x"));
  CHECK(refused(call_kind::renew_session, "id x"));
}

// A leader of 0.2.0 cannot read an agent's proof: it gets only the words that it knows.
TEST_CASE("the proof of an agent survives a round trip, and is left out for servers of 0.2.0", "[B3]") {
  for (const auto& proof : {std::string(), std::string("6f1d")})
    for (const bool authenticated : {false, true})
      for (const bool leaves : {false, true}) {
        const forward::agent_received response{"uuid", "10.0.0.1", leaves, "a name", "10.0.0.9", proof, authenticated};
        const auto bytes = wire::encode_operator_call(response);
        const auto back = wire::decode_operator_call(call_kind::remove_member, bytes);
        REQUIRE(back);
        const auto& read = std::get<forward::agent_received>(*back);
        CHECK(read.uuid == response.uuid);
        CHECK(read.address == response.address);
        CHECK(read.name == response.name);
        CHECK(read.leaves == leaves);
        CHECK(read.source == response.source);
        CHECK(read.proof == proof);
        CHECK(read.authenticated == authenticated);
        const auto plain = wire::without_proof_of_agent(bytes);
        REQUIRE(plain);
        CHECK(*plain == std::string(leaves ? "agent leaves " : "agent there ") + "uuid 10.0.0.1 a name");
        CHECK_FALSE(wire::without_proof_of_agent(*plain));
      }
  for (const auto* bad : {"proving agent there u a s p", "proving agent there u a s p anybody ",
                          "proving agent there u a s p somebody n", "proving agent leaves u a  p anybody n"})
    CHECK_FALSE(wire::decode_operator_call(call_kind::remove_member, bad));
  CHECK_FALSE(wire::without_proof_of_agent("leave x"));
}
