#include "sim/checkers/models/health_check.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::sim;

namespace {

constexpr auto right = R"({"Healthy":false,"FailureTolerance":0,"Servers":[
  {"ID":"u1","Name":"a","Address":"10.0.0.1:8300","SerfStatus":"alive","Leader":true,"Healthy":true,"Voter":true},
  {"ID":"u2","Name":"b","Address":"10.0.0.2:8300","SerfStatus":"alive","Leader":false,"Healthy":true,"Voter":true},
  {"ID":"u3","Name":"c","Address":"10.0.0.3:8300","SerfStatus":"failed","Leader":false,"Healthy":false,"Voter":true}]})";

raft::member server(int n) {
  const auto digit = std::to_string(n);
  return {node_id{static_cast<std::uint64_t>(n)}, "u" + digit, std::string(1, static_cast<char>('a' + n - 1)),
          "10.0.0." + digit + ":8300"};
}

/// Three voters: the first leads and the last is dead.
std::vector<member_truth> truth() {
  return {{server(1), true, true, true}, {server(2), true, false, true}, {server(3), false, false, true}};
}

std::string health_with(const std::string& part, const std::string& instead) {
  std::string text = right;
  const auto at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), instead);
}

} // namespace

TEST_CASE("autopilot: reports must match the cluster's state") {
  CHECK_FALSE(check_health(right, truth()));
  CHECK(check_health(health_with("\"Healthy\":false,\"F", "\"Healthy\":true,\"F"), truth()));
  CHECK(check_health(health_with("\"FailureTolerance\":0", "\"FailureTolerance\":1"), truth()));
  CHECK(check_health(health_with("\"Leader\":true", "\"Leader\":false"), truth()));
  CHECK(check_health(health_with("\"Healthy\":false,\"Voter\"", "\"Healthy\":true,\"Voter\""), truth()));
  CHECK(check_health(health_with("\"ID\":\"u2\"", "\"ID\":\"u9\""), truth()));
  CHECK(check_health(health_with("10.0.0.2", "10.0.0.4"), truth()));
  CHECK(check_health("no leader", truth()));
  auto other = truth();
  other[1].voter = false;
  CHECK(check_health(right, other));
  other = truth();
  other.pop_back();
  CHECK(check_health(right, other));
}

TEST_CASE("autopilot: as many healthy voters may fail as there are above a quorum") {
  auto all = truth();
  all[2].well = true;
  auto text = health_with("\"Healthy\":false,\"Voter\"", "\"Healthy\":true,\"Voter\"");
  text.replace(text.find("\"Healthy\":false"), 15, "\"Healthy\":true");
  CHECK(check_health(text, all));
  text.replace(text.find("Tolerance\":0"), 12, "Tolerance\":1");
  CHECK_FALSE(check_health(text, all));
}
