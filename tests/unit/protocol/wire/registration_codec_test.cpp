#include "protocol/wire/registration_codec.hpp"

#include <catch2/catch.hpp>

using namespace belay;

namespace {

agent::stored_check full_stored_check() {
  agent::stored_check c;
  auto& d = c.definition;
  d.id = "id", d.name = "name", d.notes = "notes", d.service_id = "web", d.status = "warning";
  d.ttl_ns = 10'000'000'000, d.interval_ns = 2, d.timeout_ns = 3, d.deregister_after_ns = 4;
  d.http = "http://x", d.method = "PUT", d.body = "body", d.header = {{"A", {"1", "2"}}, {"B", {}}};
  d.tls_skip_verify = true, d.tcp = "x:1", d.args = {"a", ""}, d.alias_node = "n", d.alias_service = "s";
  d.maintenance = true, d.success_before_passing = 5, d.failures_before_critical = 6, d.output_bytes_max = 7;
  c.status = "passing";
  c.output = "fine";
  c.valid_ns = 10'000'000'000;
  return c;
}

constexpr std::uint64_t noon = 1'795'000'000'000;

agent::stored_check read_check(const std::string& bytes, std::uint64_t now_ms) {
  auto found = wire::decode_registration(bytes, now_ms);
  REQUIRE(found.ok());
  return std::get<agent::stored_check>(*found);
}

} // namespace

TEST_CASE("a check survives a round trip, valid for the rest of its TTL") {
  const auto sent = full_stored_check();
  const auto bytes = wire::encode_registration(sent, noon);
  const auto back = read_check(bytes, noon + 4000);
  CHECK(back.definition == sent.definition);
  CHECK(back.status == sent.status);
  CHECK(back.output == sent.output);
  CHECK(back.valid_ns == 6'000'000'000);
  CHECK(read_check(bytes, noon + 10'000).valid_ns == 0);
  CHECK(read_check(bytes, noon + 1'000'000).valid_ns == 0);
  CHECK(read_check(bytes, noon - 1'000'000).valid_ns == sent.definition.ttl_ns); // the clock was set back
}

// Files without gRPC checks stay readable; an earlier version must not misread such a check.
TEST_CASE("a gRPC check is of a kind of its own, and other checks are written as ever") {
  auto sent = full_stored_check();
  const auto before = wire::encode_registration(sent, noon);
  CHECK(before[1] == 2);
  sent.definition.http.clear();
  sent.definition.tcp.clear();
  sent.definition.args.clear();
  sent.definition.grpc = "127.0.0.1:50051/my.Service";
  sent.definition.grpc_use_tls = true;
  const auto bytes = wire::encode_registration(sent, noon);
  CHECK(bytes[1] == 3);
  const auto back = read_check(bytes, noon);
  CHECK(back.definition == sent.definition);
  CHECK(back.output == sent.output);
}

TEST_CASE("a service survives a round trip") {
  agent::stored_service s;
  s.service.id = "a1", s.service.service = "api", s.service.port = 80, s.service.weights.passing = 3;
  s.service.tags = std::vector<std::string>{"t"};
  s.service.meta = state::string_map{{"k", "v"}};
  const auto found = wire::decode_registration(wire::encode_registration(s), noon);
  REQUIRE(found.ok());
  const auto& back = std::get<agent::stored_service>(*found).service;
  CHECK(back.id == "a1");
  CHECK(back.service == "api");
  CHECK(back.port == 80);
  CHECK(back.weights.passing == 3);
  CHECK(back.tags == s.service.tags);
  CHECK(back.meta == s.service.meta);
}

// A registration that was made with a token keeps it over a restart. Files without tokens keep the
// old format.
TEST_CASE("a registration is kept with its token, and without one as ever") {
  auto check = full_stored_check();
  CHECK(wire::encode_registration(check, noon)[1] == 2);
  check.definition.token = "6d1f1c5e";
  CHECK(read_check(wire::encode_registration(check, noon), noon).definition == check.definition);
  check.definition.grpc = "127.0.0.1:50051";
  CHECK(read_check(wire::encode_registration(check, noon), noon).definition == check.definition);
  agent::stored_service s;
  s.service.service = "api";
  CHECK(wire::encode_registration(s)[1] == 1);
  s.token = "7e";
  const auto found = wire::decode_registration(wire::encode_registration(s), noon);
  REQUIRE(found.ok());
  CHECK(std::get<agent::stored_service>(*found).token == "7e");
  CHECK(std::get<agent::stored_service>(*found).service.service == "api");
}

TEST_CASE("damaged and cut registrations are refused, whichever byte it is") {
  const auto bytes = wire::encode_registration(full_stored_check(), noon);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    CHECK_FALSE(wire::decode_registration(damaged, noon).ok());
    CHECK_FALSE(wire::decode_registration(bytes.substr(0, i), noon).ok());
  }
}
