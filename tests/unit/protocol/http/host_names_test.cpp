// DNS rebinding: a page of another origin calls a loopback server (docs/internals/pitfalls.md H5).

#include "protocol/http/host_names.hpp"
#include "protocol/http/routes.hpp"
#include "tests/unit/protocol/http/requested.hpp"

using namespace belay;
using namespace belay::http;

namespace {

bool allowed(std::string_view host, std::vector<std::string> names = {}) {
  auto s = usual_settings(); // the node is n1
  s.allowed_hosts = std::move(names);
  const auto p = ask("GET", "/v1/kv/a", {}, {{"Accept", "*/*"}, {"hOST", host}}, s);
  return std::holds_alternative<read_request>(p.action);
}

} // namespace

TEST_CASE("a server that checks hosts accepts addresses, localhost, its own name, and the configured ones") {
  for (const auto host : {"127.0.0.1", "127.0.0.1:8500", "10.1.2.3:80", "[::1]:8500", "[::1]", "[fe80::1]:1",
                          "localhost", "localhost:8500", "LocalHost.", "n1", "N1:8500", "consul", "Consul:8500",
                          "consul.service.consul", "consul.service.consul.", ""})
    CHECK(allowed(host));
  for (const auto host : {"evil.example", "evil.example:8500", "localhost.evil.example", "n1.evil.example",
                          "127.0.0.1.evil.example", "xlocalhost", "consul.example", "service.consul",
                          "web.service.consul", "[evil.example]", "[", ":8500", "1.2.3", "0x7f.0.0.1"})
    CHECK_FALSE(allowed(host));
  CHECK(allowed("belay.example", {"belay.example"}));
  CHECK(allowed("BELAY.example.:8500", {"other", "belay.Example"}));
  CHECK_FALSE(allowed("a.belay.example", {"belay.example"}));
  CHECK(allowed("a.b.example", {".example"}));
  CHECK_FALSE(allowed("example", {".example"}));
  CHECK_FALSE(allowed("evilexample", {".example"}));
}

TEST_CASE("the rejection of a host names the setting, and comes before everything else") {
  auto s = usual_settings();
  s.allowed_hosts.emplace();
  for (const auto target :
       {"/v1/kv/a", "/", "/nothing", "/v1/kv", "//v1/kv/a", "http://127.0.0.1/v1/kv/a", "nonsense"}) {
    INFO(target);
    for (const auto method : {"GET", "PUT", "OPTIONS"}) {
      const auto r = refusal_to(method, target, "", {{"Host", "evil.example:8500"}}, s);
      CHECK(r.status == 403);
      CHECK(r.body == "This server does not accept the host name \"evil.example\": see http_config.allowed_hosts in "
                      "its configuration");
      CHECK(r.content_type == "text/plain; charset=utf-8");
    }
  }
  CHECK(refusal_to("GET", "/", "", {{"Host", std::string(5000, 'x')}}, s).body.size() < 500);
}

TEST_CASE("without the setting, without a host, and through a Unix socket, no request is rejected for its host") {
  auto s = usual_settings();
  const auto body_of = [&](raw_request r) {
    return std::get<response>(parse(r, s, [] { return fresh_uuid; }).action).body;
  };
  CHECK(body_of({"GET", "/", {{"Host", "evil.example"}}, "", "127.0.0.1"}) == "Consul Agent");
  s.allowed_hosts.emplace();
  CHECK(body_of({"GET", "/", {}, "", "127.0.0.1"}) == "Consul Agent");
  CHECK(body_of({"GET", "/", {{"Host", "evil.example"}}, "", ""}) == "Consul Agent");
}

// A page can POST a form to loopback without a preflight: such a page could install its own gossip
// key.
TEST_CASE("every route rejects writes from pages of other origins", "[B10]") {
  const auto refused = [](std::string_view method, std::string_view target, header_list headers,
                          std::vector<std::string> names = {}) {
    auto s = usual_settings();
    s.acl_enabled = true;
    s.allowed_hosts = std::move(names);
    s.allowed_hosts->push_back("h.example");
    headers.emplace_back("Host", "h.example:8500");
    const auto p = ask(method, target, {}, std::move(headers), s);
    const auto* r = std::get_if<response>(&p.action);
    return r != nullptr && r->status == 403 && r->body.starts_with("This request comes from a web page");
  };
  int routes = 0;
  for (const auto& r : all_routes())
    for (const auto method : {"GET", "HEAD", "OPTIONS", "PUT", "POST", "DELETE", "PATCH"}) {
      const bool changes = method != std::string_view("GET") && method != std::string_view("HEAD") &&
                           method != std::string_view("OPTIONS");
      INFO(method << " " << r.pattern);
      for (const auto site : {"cross-site", "same-site", "", "None", "same-origin, none"})
        CHECK(refused(method, r.pattern, {{"sec-fetch-SITE", site}}) == changes);
      for (const auto origin : {"http://evil.example", "null", "", "http://h.example", "http://h.example:8501",
                                "https://h.example", "http://localhost:8500", "http://h.example:8500.evil.example"}) {
        INFO(origin);
        // h.example is permitted on any port: a page with that name is the operator's.
        const bool own = std::string_view(origin).find("h.example") != std::string_view::npos &&
                         !std::string_view(origin).ends_with(".evil.example");
        CHECK(refused(method, r.pattern, {{"Origin", origin}}) == (changes && !own));
      }
      CHECK_FALSE(refused(method, r.pattern, {}));
      CHECK_FALSE(refused(method, r.pattern, {{"Sec-Fetch-Site", "same-origin"}, {"Origin", "http://h.example:8500"}}));
      CHECK_FALSE(refused(method, r.pattern, {{"Sec-Fetch-Site", "none"}}));
      CHECK(refused(method, r.pattern, {{"Sec-Fetch-Site", "same-origin"}, {"Origin", "http://evil.example"}}) ==
            changes);
      ++routes;
    }
  CHECK(routes > 500);
}

TEST_CASE("the origin of a page is that of the server if host and port are", "[B10]") {
  const auto foreign = [](std::string_view origin, std::string_view host, std::vector<std::string> names = {}) {
    auto s = usual_settings();
    if (!names.empty())
      s.allowed_hosts = std::move(names);
    raw_request r{"PUT", "/v1/kv/a", {{"Origin", origin}, {"Host", host}}, {}, "127.0.0.1", request_time_ns};
    return comes_from_another_site(r, s);
  };
  CHECK_FALSE(foreign("http://127.0.0.1:8500", "127.0.0.1:8500"));
  CHECK_FALSE(foreign("http://LocalHost:8500", "localhost:8500"));
  CHECK_FALSE(foreign("http://[::1]:8500", "[::1]:8500"));
  CHECK_FALSE(foreign("http://n1", "n1"));
  CHECK_FALSE(foreign("http://n1", "n1:80"));
  CHECK_FALSE(foreign("https://n1", "n1"));
  CHECK_FALSE(foreign("https://n1", "n1:443"));
  CHECK(foreign("https://n1", "n1:80"));
  CHECK(foreign("http://127.0.0.1:8501", "127.0.0.1:8500"));
  CHECK(foreign("http://localhost:8500", "127.0.0.1:8500"));
  CHECK(foreign("http://127.0.0.1:8500", ""));
  CHECK(foreign("null", "null"));
  CHECK(foreign("127.0.0.1:8500", "127.0.0.1:8500"));
  // Behind a proxy the request has another host: then the operator configures the public name.
  CHECK(foreign("https://belay.example", "10.0.0.1:8500"));
  CHECK_FALSE(foreign("https://belay.example", "10.0.0.1:8500", {"belay.example"}));
  CHECK_FALSE(foreign("https://a.example:444", "10.0.0.1:8500", {".example"}));
  CHECK(foreign("http://localhost:3000", "127.0.0.1:8500", {"belay.example"}));
}

// A client agent has checked what it forwards, and sends no such headers.
TEST_CASE("a forwarded request is not checked for the origin of its page", "[B10]") {
  client_agent by;
  raw_request r{"PUT", "/v1/kv/a", {{"Sec-Fetch-Site", "cross-site"}}, "1", "127.0.0.1", request_time_ns, &by};
  const auto p = parse(r, usual_settings(), [] { return fresh_uuid; });
  CHECK(std::holds_alternative<write_request>(p.action));
}
