// The text about the health of the servers: its bytes, and parsing it.

#include "protocol/http/operators/health_report.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::http;

namespace {

server_health server(bool healthy, bool voter = true) {
  server_health s;
  s.id = "0f8fad5b-d9cb-469f-a165-70867728950e";
  s.name = "n1";
  s.address = "127.0.0.1:8300";
  s.alive = healthy;
  s.version = "1.8.7";
  s.last_contact = std::chrono::milliseconds(25);
  s.last_term = term_id{3};
  s.last_index = log_index{17};
  s.healthy = healthy;
  s.voter = voter;
  s.stable_since_ms = 1'582'979'696'789; // a leap day
  s.level = 7;
  return s;
}

} // namespace

TEST_CASE("how many servers may fail") {
  struct row {
    const char* story;
    std::vector<server_health> servers;
    std::size_t voters;
    bool healthy;
    std::size_t tolerance;
  };
  const row rows[] = {
      {"one server", {server(true)}, 1, true, 0},
      {"three", {server(true), server(true), server(true)}, 3, true, 1},
      {"one of three is ill", {server(true), server(false), server(true)}, 3, false, 0},
      {"no quorum is left", {server(true), server(false), server(false)}, 3, false, 0},
      {"five", {server(true), server(true), server(true), server(true), server(true)}, 5, true, 2},
      {"learners bear nothing", {server(true), server(true, false), server(true, false)}, 1, true, 0},
      {"an ill learner is told", {server(true), server(false, false)}, 1, false, 0},
  };
  for (const auto& r : rows) {
    INFO(r.story);
    const auto report = report_on(r.servers, r.voters);
    CHECK(report.healthy == r.healthy);
    CHECK(report.failure_tolerance == r.tolerance);
    CHECK(report.servers.size() == r.servers.size());
    CHECK(is_healthy_report(render_health(report)) == r.healthy);
  }
}

TEST_CASE("the bytes of a report") {
  auto leader = server(true);
  leader.leader = true;
  leader.last_contact = {};
  leader.stable_since_ms = 0;
  leader.level = 0;
  CHECK(render_health(report_on({leader, server(false)}, 2)) ==
        R"({"Healthy":false,"FailureTolerance":0,"Servers":[)"
        R"({"ID":"0f8fad5b-d9cb-469f-a165-70867728950e","Name":"n1","Address":"127.0.0.1:8300","SerfStatus":"alive",)"
        R"("Version":"1.8.7","Leader":true,"LastContact":"0s","LastTerm":3,"LastIndex":17,"Healthy":true,"Voter":true,)"
        R"("StableSince":"1970-01-01T00:00:00Z","FeatureLevel":0,"DiskFull":false},)"
        R"({"ID":"0f8fad5b-d9cb-469f-a165-70867728950e","Name":"n1","Address":"127.0.0.1:8300","SerfStatus":"failed",)"
        R"("Version":"1.8.7","Leader":false,"LastContact":"25ms","LastTerm":3,"LastIndex":17,"Healthy":false,)"
        R"("Voter":true,"StableSince":"2020-02-29T12:34:56Z","FeatureLevel":7,"DiskFull":false}]})");
  CHECK(render_health({}) == R"({"Healthy":false,"FailureTolerance":0,"Servers":[]})");
}

TEST_CASE("a response that is not a report contains no health") {
  for (const auto* text : {"", "{}", "{\"Healthy\":false}", "{\"Healthy\":tru"})
    CHECK_FALSE(is_healthy_report(text));
}
