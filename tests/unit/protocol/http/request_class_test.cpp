// Which requests are rejected first under overload.

#include "protocol/http/request_class.hpp"
#include "tests/unit/protocol/http/requested.hpp"

using namespace belay;
using namespace belay::http;
using forward::request_class;

namespace {

/// The class of the request, as the router parses it; vital if it has none.
request_class class_of_request(std::string_view method, std::string_view target, std::string_view body = {}) {
  const auto parsed = ask(method, target, body);
  if (const auto* known = std::get_if<response>(&parsed.action))
    FAIL("answered at once: " << known->status << " " << known->body);
  if (const auto* w = std::get_if<write_request>(&parsed.action))
    return class_of(w->command);
  if (const auto* r = std::get_if<read_request>(&parsed.action))
    return class_of(*r);
  if (const auto* a = std::get_if<agent_request>(&parsed.action))
    return class_of(*a);
  return request_class::vital;
}

} // namespace

TEST_CASE("requests are shed by their class") {
  struct row {
    const char* method;
    const char* target;
    const char* body;
    request_class expected;
  };
  constexpr auto id = "?release=aaaaaaaa-2222-3333-4444-555555555555";
  const std::string release = std::string("/v1/kv/k") + id;
  const row rows[] = {
      {"PUT", "/v1/kv/k", "v", request_class::write},
      {"PUT", "/v1/kv/k?cas=3", "v", request_class::write},
      {"PUT", "/v1/kv/k?acquire=aaaaaaaa-2222-3333-4444-555555555555", "v", request_class::write},
      {"DELETE", "/v1/kv/k", "", request_class::write},
      {"PUT", "/v1/session/create", "{}", request_class::write},
      {"PUT", "/v1/txn", R"([{"KV":{"Verb":"set","Key":"a","Value":"dg=="}}])", request_class::write},
      {"PUT", "/v1/catalog/register", R"({"Node":"n","Address":"10.0.0.1"})", request_class::write},
      {"PUT", "/v1/agent/service/register", R"({"Name":"web"})", request_class::write},
      {"PUT", "/v1/agent/check/register", R"({"Name":"c","TTL":"10s"})", request_class::write},

      {"GET", "/v1/kv/k", "", request_class::read},
      {"GET", "/v1/kv/k?recurse&consistent&index=7", "", request_class::read},
      {"PUT", "/v1/txn", R"([{"KV":{"Verb":"get","Key":"a"}}])", request_class::read},
      {"GET", "/v1/health/service/web", "", request_class::read},
      {"GET", "/v1/agent/services", "", request_class::read},

      {"PUT", release.c_str(), "", request_class::vital},
      {"PUT", "/v1/txn",
       R"([{"KV":{"Verb":"unlock","Key":"a","Value":"","Session":"aaaaaaaa-2222-3333-4444-555555555555"}}])",
       request_class::vital},
      {"PUT", "/v1/session/renew/aaaaaaaa-2222-3333-4444-555555555555", "", request_class::vital},
      {"PUT", "/v1/session/destroy/aaaaaaaa-2222-3333-4444-555555555555", "", request_class::vital},
      {"PUT", "/v1/catalog/deregister", R"({"Node":"n"})", request_class::vital},
      {"PUT", "/v1/agent/service/deregister/web", "", request_class::vital},
      {"PUT", "/v1/agent/check/pass/c", "", request_class::vital},
      {"PUT", "/v1/operator/autopilot/configuration", "{}", request_class::vital},
      {"GET", "/v1/status/leader", "", request_class::vital},
      {"GET", "/v1/agent/ready", "", request_class::vital},
  };
  for (const auto& r : rows) {
    INFO(r.method << " " << r.target);
    CHECK(class_of_request(r.method, r.target, r.body) == r.expected);
  }
}
