// `?filter` on the agent's own endpoints (docs/contract/09).

#include "protocol/http/agent/agent_render.hpp"
#include "tests/unit/protocol/http/filtered_rows.hpp"

using namespace belay;
using namespace belay::http;

TEST_CASE("the agent's services and checks") {
  const auto services = ask("GET", target("/v1/agent/services", "Port == 5433"));
  REQUIRE(std::holds_alternative<agent_request>(services.action));
  const auto s = render_agent(std::get<agent_request>(services.action),
                              agent::service_rows{{service("db1", 5432), service("db2", 5433)}}, services.options);
  CHECK(s.body.substr(0, 6) == "{\"db2\"");
  CHECK(!shows(s, "db1"));
  const auto checks = ask("GET", target("/v1/agent/checks", "Status != passing"));
  REQUIRE(std::holds_alternative<agent_request>(checks.action));
  const auto c = render_agent(std::get<agent_request>(checks.action),
                              agent::check_rows{{check("a", "passing"), check("b", "critical")}}, checks.options);
  CHECK(shows(c, "\"b\":"));
  CHECK(!shows(c, "\"a\":"));
  const auto r = refusal_to("GET", target("/v1/agent/services", "Foo == 1"));
  CHECK(r.status == 500);
  CHECK(r.body == "Failed to create boolean expression evaluator: Selector \"Foo\" is not valid");
  CHECK(header(r, "X-Consul-Index") == "(none)");
}
