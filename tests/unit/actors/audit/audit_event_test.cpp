// The lines of the audit log: one JSON object each, whatever clients put into their requests.

#include "actors/audit/audit_event.hpp"

#include <boost/json/parse.hpp>

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;

namespace {

audit_event put_of_a_key() {
  audit_event e;
  e.id = "11111111-2222-3333-4444-555555555555";
  e.began_ns = 1606843861'652566000;
  e.completed_ns = 1606843861'700000001;
  e.accessor = "08f05787-3609-8001-65b4-922e5d52e84c";
  e.description = "deploys";
  e.token_created_ns = 1606843800'000000000;
  e.method = "PUT";
  e.endpoint = "/v1/kv/app/version";
  e.remote_address = "127.0.0.1";
  e.user_agent = "curl/7.88.1";
  e.host = "127.0.0.1:8500";
  e.route = "kv";
  e.targets = {{"set", "key", "app/version"}};
  e.index = log_index{42};
  e.status = 200;
  return e;
}

/// Parses a line; every line must be an object.
boost::json::object object_in(const std::string& line) {
  REQUIRE(line.back() == '\n');
  REQUIRE(line.find('\n') == line.size() - 1);
  return boost::json::parse(line).as_object();
}

std::string user_agent_in(const std::string& line) {
  return object_in(line).at("payload").at("request").at("user_agent").as_string().c_str();
}

} // namespace

TEST_CASE("audit: a line has Consul's members, and ours below `belay`") {
  CHECK(
      audit_line(put_of_a_key()) ==
      R"({"created_at":"2020-12-01T17:31:01.700000001Z","event_type":"audit","payload":{)"
      R"("id":"11111111-2222-3333-4444-555555555555","version":"1","type":"HTTPEvent","timestamp":"2020-12-01T17:31:01.652566Z",)"
      R"("auth":{"accessor_id":"08f05787-3609-8001-65b4-922e5d52e84c","description":"deploys","create_time":"2020-12-01T17:30:00Z"},)"
      R"("request":{"operation":"PUT","endpoint":"/v1/kv/app/version","remote_addr":"127.0.0.1","user_agent":"curl/7.88.1","host":"127.0.0.1:8500"},)"
      R"("response":{"status":"200"},"stage":"OperationComplete",)"
      R"("belay":{"route":"kv","outcome":"done","index":42,"targets":[{"verb":"set","kind":"key","name":"app/version"}]}}})"
      "\n");
}

TEST_CASE("audit: unknown values are left out") {
  audit_event e;
  e.outcome = audit_outcome::unknown;
  const auto payload = object_in(audit_line(e)).at("payload").as_object();
  CHECK_FALSE(payload.contains("response"));
  CHECK_FALSE(payload.at("auth").as_object().contains("create_time"));
  CHECK(payload.at("belay").as_object() == boost::json::object{{"route", ""}, {"outcome", "unknown"}});
}

TEST_CASE("audit: a response of 400 and above is logged with its text") {
  auto e = put_of_a_key();
  e.outcome = audit_outcome::denied;
  e.status = 403;
  e.error = "Permission denied";
  const auto payload = object_in(audit_line(e)).at("payload").as_object();
  CHECK(payload.at("response").as_object() == boost::json::object{{"status", "403"}, {"error", "Permission denied"}});
  CHECK(payload.at("belay").at("outcome").as_string() == "denied");
}

// A line feed in a header would make a second line, whose contents the client could choose.
TEST_CASE("audit: texts of clients cannot leave their field") {
  auto e = put_of_a_key();
  e.user_agent = "a\n{\"event_type\":\"audit\"}\r\t\"\\\x01\xff";
  CHECK(user_agent_in(audit_line(e)) == "a\n{\"event_type\":\"audit\"}\r\t\"\\\x01\xef\xbf\xbd");
}

TEST_CASE("audit: long texts are cut between characters, and marked") {
  auto e = put_of_a_key();
  e.user_agent = std::string(audit_text_bytes_max - 1, 'x') + "\xc3\xa4 and more";
  CHECK(user_agent_in(audit_line(e)) == std::string(audit_text_bytes_max - 1, 'x') + "...");
  e.user_agent = std::string(audit_text_bytes_max, 'x');
  CHECK(user_agent_in(audit_line(e)) == e.user_agent);
  e.targets = {{"set", "key", std::string(audit_path_bytes_max + 1, 'k')}};
  e.more_targets = 7;
  const auto ours = object_in(audit_line(e)).at("payload").at("belay").as_object();
  CHECK(ours.at("targets").at(0).at("name").as_string() == std::string(audit_path_bytes_max, 'k') + "...");
  CHECK(ours.at("more_targets").as_int64() == 7);
}

TEST_CASE("audit: a gap has the number of missing lines") {
  const auto o = object_in(audit_gap_line("11111111-2222-3333-4444-555555555555", 1606843861'000000000, 3));
  CHECK(o.at("created_at").as_string() == "2020-12-01T17:31:01Z");
  CHECK(o.at("payload").at("type").as_string() == "LostEvents");
  CHECK(o.at("payload").at("belay").at("lost").as_int64() == 3);
}

TEST_CASE("audit: secrets are hidden wherever they appear") {
  const std::string secret = "5f2c4a4e-9d1c-4f0b-8c46-0d4c2f6a7b11";
  std::string text = "x=" + secret + "," + secret + secret;
  hide_secret(text, secret);
  CHECK(text == "x=<hidden>,<hidden><hidden>");
  text = "root of all";
  hide_secret(text, "root");
  hide_secret(text, "");
  CHECK(text == "root of all");
}

TEST_CASE("audit: a secret does not stay in the name of a program") {
  const std::string secret = "5f2c4a4e-9d1c-4f0b-8c46-0d4c2f6a7b11";
  std::string text = "curl/7.88.1 " + secret + "/" + secret;
  hide_uuids(text);
  CHECK(text == "curl/7.88.1 <hidden>/<hidden>");
  text = "curl/7.88.1 " + secret.substr(1);
  hide_uuids(text);
  CHECK(text == "curl/7.88.1 " + secret.substr(1));
}
