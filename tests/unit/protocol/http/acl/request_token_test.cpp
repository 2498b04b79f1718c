// In whose name a request asks (docs/contract/01, section 5; docs/contract/10, section 1).

#include "protocol/http/tokens.hpp"
#include "tests/unit/protocol/http/acl/acl_asked.hpp"

using namespace belay;
using namespace belay::http;

namespace {

parsed_request asked_with(std::string_view query, header_list headers, const route_settings& s) {
  return ask("GET", "/v1/kv/a" + std::string(query), {}, std::move(headers), s);
}

std::string secret_of(std::string_view query, header_list headers, const route_settings& s = acl_settings()) {
  const auto p = asked_with(query, std::move(headers), s);
  REQUIRE(p.by);
  return p.by->secret;
}

} // namespace

TEST_CASE("the token is that of the query, else of X-Consul-Token, else of Authorization, else the agent's") {
  auto s = acl_settings();
  s.default_token = "agent";
  struct row {
    const char* query;
    header_list headers;
    const char* secret;
  };
  for (const auto& t : {
           row{"?token=q", {{"X-Consul-Token", "h"}, {"Authorization", "Bearer b"}}, "q"},
           row{"?token=", {{"X-Consul-Token", "h"}, {"Authorization", "Bearer b"}}, "h"},
           row{"", {{"x-consul-token", "h"}}, "h"},
           row{"", {{"X-Consul-Token", ""}, {"Authorization", "Bearer b"}}, "b"},
           row{"", {{"Authorization", "bEARER  b c"}}, "b"}, row{"", {{"Authorization", "Bearer"}}, "agent"},
           row{"", {{"Authorization", "Bearer  "}}, "agent"}, row{"", {{"Authorization", "Basic b"}}, "agent"},
           row{"", {{"Authorization", "b"}}, "agent"}, row{"", {}, "agent"},
           row{"?token=%20x", {}, " x"}, // compared byte by byte, so nothing is cut off
       }) {
    INFO(t.query << " -> " << t.secret);
    CHECK(secret_of(t.query, t.headers, s) == t.secret);
  }
  CHECK(secret_of("", {}) == "anonymous");
}

// A stranger's megabyte must not travel to the state machine and through the log.
TEST_CASE("a text that is too long to be a token becomes a short one that no token has") {
  const std::string longest(token_bytes_max, 'x'), longer(token_bytes_max + 1, 'x');
  CHECK(secret_of("", {{"X-Consul-Token", longest}}) == longest);
  const auto nobodys = secret_of("", {{"X-Consul-Token", longer}});
  CHECK(nobodys == std::string(1, '\0'));
  CHECK(nobodys != "anonymous");
}

TEST_CASE("reads and writes carry in whose name they are asked, with the settings of the server") {
  auto s = acl_settings();
  s.acl_lists_need_permission = true;
  const state::authority expected{"t", false, "dc1"};
  const header_list token{{"X-Consul-Token", "t"}};

  const auto read = ask("GET", "/v1/kv/a?keys", {}, token, s);
  CHECK(read.by == expected);
  CHECK(read.needs == access::by_state);
  CHECK(std::get<read_request>(read.action).query.by == expected);
  CHECK(std::get<read_request>(read.action).query.lists_need_permission);

  s.acl_allowed_by_default = true;
  s.acl_lists_need_permission = false;
  const auto write = ask("PUT", "/v1/kv/a", "1", token, s);
  CHECK(std::get<write_request>(write.action).command.by == state::authority{"t", true, "dc1"});
  CHECK_FALSE(std::get<read_request>(ask("GET", "/v1/kv/a", {}, token, s).action).query.lists_need_permission);

  const auto local = ask("GET", "/v1/agent/self", {}, token, s);
  CHECK(local.needs == access::agent_read);
  CHECK(local.by->secret == "t");
}

// The audit log names them. What cannot be read has no token, and must not be taken for somebody's who brought none.
TEST_CASE("a request that is refused at once says who it was") {
  const header_list token{{"X-Consul-Token", "t"}};
  for (const auto* target : {"/v1/kv/a?cas=x", "/v1/txn", "/v1/acl/policies", "/v1/agent/reload?token=t"}) {
    INFO(target);
    const auto p = ask("DELETE", target, {}, token, acl_settings());
    CHECK(std::holds_alternative<response>(p.action));
    REQUIRE(p.by);
    CHECK(p.by->secret == "t");
  }
  CHECK_FALSE(ask("GET", "/v1/kv/a?x=%", {}, token, acl_settings()).by);
  CHECK_FALSE(ask("GET", "/v2", {}, token, acl_settings()).by);
}

TEST_CASE("with ACLs off tokens are ignored") {
  auto s = usual_settings();
  s.default_token = "agent";
  const auto p = asked_with("?token=q", {}, s);
  CHECK_FALSE(p.by);
  CHECK_FALSE(std::get<read_request>(p.action).query.by);
  CHECK_FALSE(std::get<write_request>(ask("PUT", "/v1/kv/a?token=q", "1", {}, s).action).command.by);
}

// An unknown token must not keep anybody from the first token, so the state machine is not asked about him.
TEST_CASE("what needs nothing is asked in the server's own name") {
  const auto p = ask("PUT", "/v1/acl/bootstrap", {}, {{"X-Consul-Token", "nobody"}}, acl_settings());
  CHECK(p.needs == access::nobody);
  CHECK_FALSE(std::get<write_request>(p.action).command.by);
}

TEST_CASE("the need is that of the method") {
  const auto needs = [](std::string_view method, std::string_view target, std::string_view body = {}) {
    return ask(method, target, body, {}, acl_settings()).needs;
  };
  CHECK(needs("GET", "/v1/operator/autopilot/configuration") == access::operator_read);
  CHECK(needs("PUT", "/v1/operator/autopilot/configuration", "{}") == access::operator_write);
  CHECK(needs("GET", "/v1/operator/keyring") == access::keyring_read);
  CHECK(needs("DELETE", "/v1/operator/keyring", R"({"Key":"pUqJrVyVRj5jsiYEkM/tFQ=="})") == access::keyring_write);
  CHECK(needs("GET", "/v1/snapshot") == access::acl_write);
  CHECK(needs("PUT", "/v1/snapshot") == access::acl_write);
}
