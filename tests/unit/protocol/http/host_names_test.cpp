// DNS rebinding: a page of another origin calls a server on the loopback by a name of its own (docs/pitfalls.md H5).

#include "protocol/http/host_names.hpp"
#include "tests/unit/protocol/http/asked.hpp"

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

TEST_CASE(
    "a server that looks at hosts is called by addresses, as localhost, by its own name, and by those it was told") {
  for (const auto host : {"127.0.0.1", "127.0.0.1:8500", "10.1.2.3:80", "[::1]:8500", "[::1]", "[fe80::1]:1",
                          "localhost", "localhost:8500", "LocalHost.", "n1", "N1:8500", ""})
    CHECK(allowed(host));
  for (const auto host :
       {"evil.example", "evil.example:8500", "localhost.evil.example", "n1.evil.example", "127.0.0.1.evil.example",
        "xlocalhost", "[evil.example]", "[", ":8500", "1.2.3", "0x7f.0.0.1"})
    CHECK_FALSE(allowed(host));
  CHECK(allowed("belay.example", {"belay.example"}));
  CHECK(allowed("BELAY.example.:8500", {"other", "belay.Example"}));
  CHECK_FALSE(allowed("a.belay.example", {"belay.example"}));
  CHECK(allowed("a.b.example", {".example"}));
  CHECK_FALSE(allowed("example", {".example"}));
  CHECK_FALSE(allowed("evilexample", {".example"}));
}

TEST_CASE("the refusal of a host names the setting, and comes before everything else") {
  auto s = usual_settings();
  s.allowed_hosts.emplace();
  for (const auto target :
       {"/v1/kv/a", "/", "/nothing", "/v1/kv", "//v1/kv/a", "http://127.0.0.1/v1/kv/a", "nonsense"}) {
    INFO(target);
    for (const auto method : {"GET", "PUT", "OPTIONS"}) {
      const auto r = refusal_to(method, target, "", {{"Host", "evil.example:8500"}}, s);
      CHECK(r.status == 403);
      CHECK(r.body ==
            "This server may not be called \"evil.example\": see http_config.allowed_hosts in its configuration");
      CHECK(r.content_type == "text/plain; charset=utf-8");
    }
  }
  CHECK(refusal_to("GET", "/", "", {{"Host", std::string(5000, 'x')}}, s).body.size() < 500);
}

TEST_CASE("without the setting, without a host, and through a Unix socket, nobody is refused for a host") {
  auto s = usual_settings();
  const auto body_of = [&](raw_request r) {
    return std::get<response>(parse(r, s, [] { return fresh_uuid; }).action).body;
  };
  CHECK(body_of({"GET", "/", {{"Host", "evil.example"}}, "", "127.0.0.1"}) == "Consul Agent");
  s.allowed_hosts.emplace();
  CHECK(body_of({"GET", "/", {}, "", "127.0.0.1"}) == "Consul Agent");
  CHECK(body_of({"GET", "/", {{"Host", "evil.example"}}, "", ""}) == "Consul Agent");
}
