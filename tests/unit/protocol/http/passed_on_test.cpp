// A holder of a client certificate connects to the server port like a client agent. It sends
// requests that the server's http_config rejects on its HTTP port, and must not bypass it that way.

#include "protocol/http/routes.hpp"
#include "tests/unit/protocol/http/requested.hpp"

using namespace belay;
using namespace belay::http;

namespace {

const client_agent one_agent{"a", "5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a02", "10.0.0.9", false};

int status_of(std::string_view method, std::string_view target, const route_settings& s, header_list headers = {},
              const client_agent* by = &one_agent) {
  raw_request r{method, target, std::move(headers), {}, "10.0.0.9", request_time_ns, by};
  const auto p = parse(r, s, [] { return fresh_uuid; });
  const auto* refused = std::get_if<response>(&p.action);
  return refused != nullptr ? refused->status : 0;
}

bool is_of_agent(const route& r) {
  return r.pattern == "/v1/internal/agent/alive";
}

} // namespace

TEST_CASE("http_config holds for requests that client agents pass on, on every path", "[B22]") {
  int checked = 0;
  for (const auto& r : all_routes())
    for (const auto method : method_names_of(r)) {
      INFO(method << " " << r.pattern);
      auto s = usual_settings();
      s.acl_enabled = true;
      s.block_endpoints = {std::string(r.pattern)};
      const auto blocked = status_of(method, r.pattern, s);
      if (is_of_agent(r))
        CHECK(blocked == 0);
      else
        CHECK(blocked == 403);
      s.block_endpoints.clear();
      s.allow_write_http_from = {"10.0.0.8/32"};
      if (method != "GET" && !is_of_agent(r))
        CHECK(status_of(method, r.pattern, s) == 403);
      if (is_of_agent(r))
        CHECK(status_of(method, r.pattern, s) == 0);
      s.allow_write_http_from.clear();
      s.allowed_hosts.emplace();
      CHECK(status_of(method, r.pattern, s, {{"Host", "evil.example"}}) == 403);
      CHECK((status_of(method, r.pattern, s, {{"Host", "localhost"}}) != 403 || is_of_agent(r)));
      ++checked;
    }
  CHECK(checked > 100);
  auto s = usual_settings();
  s.allow_write_http_from = {"10.0.0.9/32"};
  CHECK(status_of("PUT", "/v1/kv/a", s) == 0);
}

TEST_CASE("reports of an agent have the address and the secret of its node", "[B3]") {
  const auto sent = [](std::string_view method, header_list headers) {
    raw_request r{method, "/v1/internal/agent/alive", std::move(headers), {}, "10.9.9.9", request_time_ns, &one_agent};
    return std::get<local_request>(parse(r, usual_settings(), [] { return fresh_uuid; }).action).received;
  };
  CHECK(sent("PUT", {}).proof.empty()); // 0.2.0
  CHECK(sent("PUT", {}).source == "10.9.9.9");
  CHECK(sent("DELETE", {{"x-belay-NODE-secret", "s3cret"}}).proof == "s3cret");
  CHECK(sent("DELETE", {{"X-Belay-Node-Secret", "s3cret"}}).leaves);
  CHECK(sent("PUT", {{"X-Belay-Node-Secret", "two words"}}).proof.empty());
  CHECK(status_of("DELETE", "/v1/internal/agent/alive", usual_settings(), {}, nullptr) == 403);
}
