// The token of a request (docs/contract/01, section 5; docs/contract/10, section 1).

#include "protocol/http/routes.hpp"
#include "protocol/http/tokens.hpp"
#include "tests/unit/protocol/http/acl/acl_requested.hpp"

#include <algorithm>

using namespace belay;
using namespace belay::http;

namespace {

parsed_request requested_with(std::string_view query, header_list headers, const route_settings& s) {
  return ask("GET", "/v1/kv/a" + std::string(query), {}, std::move(headers), s);
}

std::string secret_of(std::string_view query, header_list headers, const route_settings& s = acl_settings()) {
  const auto p = requested_with(query, std::move(headers), s);
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
           row{"", {{"Authorization", "bEARER  b c"}}, "b"},
           row{"", {{"Authorization", "Bearer"}}, "agent"},
           row{"", {{"Authorization", "Bearer  "}}, "agent"},
           row{"", {{"Authorization", "Basic b"}}, "agent"},
           row{"", {{"Authorization", "b"}}, "agent"},
           row{"", {}, "agent"},
       }) {
    INFO(t.query << " -> " << t.secret);
    CHECK(secret_of(t.query, t.headers, s) == t.secret);
  }
  CHECK(secret_of("", {}) == "anonymous");
}

// A client's megabyte must not travel through the log, and a line break must not reach a header.
TEST_CASE("a text that cannot be a token becomes a short one that no token has", "[B1]") {
  const std::string longest(token_bytes_max, 'x'), longer(token_bytes_max + 1, 'x');
  CHECK(token_bytes_max == 255);
  CHECK(secret_of("", {{"X-Consul-Token", longest}}) == longest);
  CHECK(secret_of("?token=!~", {}) == "!~");
  const auto nobodys = std::string(1, '\0');
  CHECK(secret_of("", {{"X-Consul-Token", longer}}) == nobodys);
  CHECK(secret_of("", {{"Authorization", "Bearer " + longer}}) == nobodys);
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (byte > 0x20 && byte < 0x7f)
      continue;
    INFO("byte " << byte);
    constexpr char digits[] = "0123456789abcdef";
    const std::string escaped{'%', digits[byte >> 4], digits[byte & 15]};
    for (const auto& query : {"?token=" + escaped, "?token=a" + escaped, "?token=" + escaped + "a"})
      CHECK(secret_of(query, {}) == nobodys);
  }
  CHECK(nobodys != "anonymous");
}

TEST_CASE("a header never carries a text that cannot be a token", "[B1]") {
  const std::string longest(token_bytes_max, 'x');
  CHECK(token_header("t") == "t");
  CHECK(token_header(longest) == longest);
  for (const auto& text : {longest + "x", std::string("a\r\nb"), std::string("a b"), std::string(1, '\0'),
                           std::string("\x7f"), std::string("\xc3\xa4")}) {
    const auto written = token_header(text);
    CHECK_FALSE(could_be_token(written)); // otherwise it could be a real token
    CHECK(written.find_first_not_of("abcdefghijklmnopqrstuvwxyz ") == written.npos);
    CHECK(written != text);
  }
}

// A client agent rewrites a request from what it has parsed, for every route.
TEST_CASE("a client agent sends servers path and query as it parsed them, without the token", "[B1]") {
  auto s = usual_settings();
  s.client_agent = true;
  const std::string smuggled = "x%0d%0a%0d%0aPUT%20/v1/kv/smuggled%20HTTP/1.1%0d%0a";
  int passed_on = 0;
  for (const auto& r : all_routes())
    for (const auto method : method_names_of(r))
      for (const auto* before : {"?", "?recurse&", "?a=%0d%0a%00%7f%20%ff;", "?Token=t&"}) {
        INFO(method << " " << r.pattern << before);
        const auto p = ask(method,
                           std::string(r.pattern) + (r.pattern.back() == '/' ? "a%2Fb" : "") + before +
                               "token=" + smuggled + "&token=second",
                           {}, {}, s);
        if (!p.for_servers)
          continue;
        ++passed_on;
        const auto& target = p.target_for_servers;
        CHECK(std::all_of(target.begin(), target.end(), [](char c) { return c > ' ' && c < '\x7f'; }));
        CHECK(target.starts_with(r.pattern));
        CHECK(target.find("smuggled") == target.npos);
        CHECK(target.find("token=") == target.npos);
        CHECK(token_header(p.secret_for_servers).find('\r') == std::string_view::npos);
      }
  CHECK(passed_on > 50);
}

TEST_CASE("reads and writes carry their token, with the settings of the server") {
  auto s = acl_settings();
  s.acl_lists_need_permission = true;
  const state::auth_context expected{"t", false, "dc1"};
  const header_list token{{"X-Consul-Token", "t"}};

  const auto read = ask("GET", "/v1/kv/a?keys", {}, token, s);
  CHECK(read.by == expected);
  CHECK(read.needs == access::by_state);
  CHECK(std::get<read_request>(read.action).query.by == expected);
  CHECK(std::get<read_request>(read.action).query.lists_need_permission);

  s.acl_allowed_by_default = true;
  s.acl_lists_need_permission = false;
  const auto write = ask("PUT", "/v1/kv/a", "1", token, s);
  CHECK(std::get<write_request>(write.action).command.by == state::auth_context{"t", true, "dc1"});
  CHECK_FALSE(std::get<read_request>(ask("GET", "/v1/kv/a", {}, token, s).action).query.lists_need_permission);

  const auto local = ask("GET", "/v1/agent/self", {}, token, s);
  CHECK(local.needs == access::agent_read);
  CHECK(local.by->secret == "t");
}

// The audit log names them. An unreadable request has no token, not the anonymous one.
TEST_CASE("a request that is rejected at once has its token") {
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
  const auto p = requested_with("?token=q", {}, s);
  CHECK_FALSE(p.by);
  CHECK_FALSE(std::get<read_request>(p.action).query.by);
  CHECK_FALSE(std::get<write_request>(ask("PUT", "/v1/kv/a?token=q", "1", {}, s).action).command.by);
}

// An unknown token must not prevent the first token, so the state machine does not check it.
TEST_CASE("a request without permissions is made on behalf of the server") {
  const auto p = ask("PUT", "/v1/acl/bootstrap", {}, {{"X-Consul-Token", "nobody"}}, acl_settings());
  CHECK(p.needs == access::unrestricted);
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
