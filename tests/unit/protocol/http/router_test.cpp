// Paths, methods and the order in which a request is checked (docs/contract/01, sections 2 to 6).

#include "protocol/go_compat/url.hpp"
#include "protocol/http/network.hpp"
#include "tests/unit/protocol/http/requested.hpp"

using namespace belay;
using namespace belay::http;

TEST_CASE("unknown paths are 404 without a text, a type, or Vary") {
  for (const auto path :
       {"/v1/nothing", "/v2/kv/a", "/v1/session/nothing", "/v1/txn/x", "/v1", "/v1/acl/info/x", "/v1/event",
        "/v1/event/nothing", "/v1/snapshot/x", "/v1/agent/check", "/v1/agent/tokens", "/v1/query"}) {
    const auto r = refusal_to("GET", path);
    INFO(path);
    CHECK(r.status == 404);
    CHECK(r.body.empty());
    CHECK(r.content_type.empty());
    CHECK_FALSE(r.vary);
  }
}

TEST_CASE("the root names the server") {
  const auto r = refusal_to("GET", "/");
  CHECK(r.status == 200);
  CHECK(r.body == "Consul Agent");
  CHECK(r.content_type == "text/plain; charset=utf-8");
}

TEST_CASE("other methods, HEAD too, are 405 with the list of the path") {
  struct row {
    const char *method, *path, *allow;
  };
  for (const auto& t :
       {row{"HEAD", "/v1/kv/a", "OPTIONS,GET,PUT,DELETE"}, row{"POST", "/v1/kv/a", "OPTIONS,GET,PUT,DELETE"},
        row{"HEAD", "/v1/session/list", "OPTIONS,GET"}, row{"GET", "/v1/session/create", "OPTIONS,PUT"},
        row{"DELETE", "/v1/session/destroy/abc", "OPTIONS,PUT"}, row{"POST", "/v1/txn", "OPTIONS,PUT"},
        row{"PUT", "/v1/status/leader", "OPTIONS,GET"}, row{"PUT", "/v1/catalog/nodes", "OPTIONS,GET"},
        row{"PUT", "/v1/agent/self", "OPTIONS,GET"}, row{"GET", "/v1/agent/reload", "OPTIONS,PUT"},
        row{"GET", "/v1/agent/service/register", "OPTIONS,PUT"}, row{"PUT", "/v1/agent/service/web", "OPTIONS,GET"},
        row{"GET", "/v1/agent/check/pass/c", "OPTIONS,PUT"}, row{"PUT", "/v1/event/list", "OPTIONS,GET"},
        row{"GET", "/v1/event/fire/deploy", "OPTIONS,PUT"}, row{"get", "/v1/status/peers", "OPTIONS,GET"},
        row{"PUT", "/v1/operator/raft/configuration", "OPTIONS,GET"},
        row{"GET", "/v1/operator/raft/peer", "OPTIONS,PUT,DELETE"}, row{"DELETE", "/v1/snapshot", "OPTIONS,GET,PUT"}}) {
    const auto r = refusal_to(t.method, t.path);
    CHECK(r.status == 405);
    CHECK(header(r, "Allow") == t.allow);
    CHECK(r.body == std::string("method ") + t.method + " not allowed");
    CHECK(r.content_type == "text/plain; charset=utf-8");
    CHECK(r.vary);
  }
}

// Called before the path is cleaned and the method is known to be allowed.
TEST_CASE("path and method determine the limit of a body") {
  auto s = usual_settings();
  s.kv_max_value_size = 10;
  s.txn_max_req_len = 20;
  constexpr std::size_t usual = 4 << 20, any = SIZE_MAX;
  struct row {
    const char *method, *target;
    std::size_t bytes_max;
    bool streamed;
  };
  for (const auto& t :
       {row{"PUT", "/v1/kv/a", 10, false}, row{"PUT", "/v1/kv/", 10, false}, row{"PUT", "/v1/kv", usual, false},
        row{"GET", "/v1/kv/a", usual, false}, row{"PUT", "/v1/kv%2Fa", 10, false},
        row{"PUT", "/v1/kv/%zz", usual, false}, row{"PUT", "/v1/txn?dc=x", 20, false},
        row{"POST", "/v1/txn", 20, false}, row{"PUT", "/v1/txn/", usual, false}, row{"PUT", "/v1/snapshot", any, true},
        row{"GET", "/v1/snapshot", usual, false}, row{"PUT", "/v1/agent/service/register", usual, false},
        row{"PUT", "/nothing", usual, false}, row{"OPTIONS", "*", usual, false}, row{"PUT", "", usual, false}}) {
    INFO(t.method << " " << t.target);
    const auto limit = body_limit_of(t.method, t.target, s);
    CHECK(limit.bytes_max == t.bytes_max);
    CHECK(limit.streamed == t.streamed);
  }
}

TEST_CASE("OPTIONS returns the methods and nothing else") {
  const auto r = refusal_to("OPTIONS", "/v1/kv/a");
  CHECK(r.status == 200);
  CHECK(r.body.empty());
  CHECK(r.content_type.empty());
  CHECK(header(r, "Allow") == "OPTIONS,GET,PUT,DELETE");
  CHECK(refusal_to("OPTIONS", "*").status == 200);
}

TEST_CASE("paths that are not clean are redirected, whatever the method") {
  struct row {
    const char *method, *target, *location;
  };
  for (const auto& t :
       {row{"GET", "/v1/kv/a/../b", "/v1/kv/b"}, row{"GET", "/v1/kv/a/./b", "/v1/kv/a/b"},
        row{"PUT", "/v1/kv/a//b", "/v1/kv/a/b"}, row{"PUT", "/v1/kv/a%2F%2Fb", "/v1/kv/a/b"},
        row{"GET", "/v1/kv//a", "/v1/kv/a"}, row{"PUT", "/v1/kv/%2Fa", "/v1/kv/a"},
        row{"GET", "/v1/kv/a//b/?recurse&x=%20", "/v1/kv/a/b/?recurse&x=%20"}, row{"GET", "/v1/kv", "/v1/kv/"},
        row{"GET", "/v1/kv?keys", "/v1/kv/?keys"}, row{"DELETE", "/v1/session/info", "/v1/session/info/"},
        row{"GET", "//v1/nothing", "/v1/nothing"}, row{"GET", "/v1/kv/x//%E6%97%A5%3F%25", "/v1/kv/x/%E6%97%A5%3F%25"},
        row{"GET", "/../..", "/"}}) {
    const auto r = refusal_to(t.method, t.target);
    CHECK(r.status == 301);
    CHECK(header(r, "Location") == t.location);
    CHECK_FALSE(r.vary);
    CHECK(r.body.empty() == (std::string_view(t.method) != "GET"));
  }
  const auto r = refusal_to("GET", "/v1/kv//a?x=<&y");
  CHECK(r.body == "<a href=\"/v1/kv/a?x=&lt;&amp;y\">Moved Permanently</a>.\n\n");
  CHECK(r.content_type == "text/html; charset=utf-8");
}

// Services are registered in a body, with any ID. Redirected paths could not remove them.
TEST_CASE("a service that a body registered under any ID is removed by its path") {
  const auto id_of = [](const char* target) {
    const auto p = ask("PUT", target, {});
    const auto& requested = std::get<agent_request>(p.action).what;
    if (const auto* s = std::get_if<agent::deregister_service>(&requested))
      return s->id;
    return std::get<agent::deregister_check>(requested).id;
  };
  for (const std::string of : {"service", "check"})
    for (const auto& [id, spelled] : {std::pair{"/svc", "%2Fsvc"},
                                      {"/svc", "/svc"},
                                      {"a//b", "a//b"},
                                      {"a//b", "a%2F%2Fb"},
                                      {"../x", "../x"},
                                      {".", "."},
                                      {"//", "%2F/"},
                                      {"a/", "a/"},
                                      {"a b", "a%20b"}})
      CHECK(id_of(("/v1/agent/" + of + "/deregister/" + spelled).c_str()) == id);
  CHECK(refusal_to("PUT", "/v1/agent//service/deregister/a").status == 301);
  CHECK(refusal_to("PUT", "/v1/agent/service//deregister/a").status == 301);
  for (const auto& r : all_routes())
    if (takes_any_id(r, std::string(r.pattern) + "/x"))
      CHECK(r.needs(method_bit("PUT")) == access::by_agent);
}

TEST_CASE("cleaning a path, and knowing that it is clean, agree") {
  for (const std::string path :
       {"/",   "/a",   "/a/",  "/a/b",     "//",       "/a//b", "/a/./b",       "/a/.", "/a/..", "/..",   "/a/../",
        "/.a", "/..a", "/a..", "/a/.../b", "/a/..b/c", "/./",   "/a/b/../../c", "",     "a",     "/a/b//"}) {
    INFO(path);
    CHECK(go_compat::is_clean_path(path) == (go_compat::clean_path(path) == path));
    CHECK(go_compat::clean_path(go_compat::clean_path(path)) == go_compat::clean_path(path));
  }
  CHECK(go_compat::clean_path("/a/b/../../c/") == "/c/");
  CHECK(go_compat::clean_path("/a/..") == "/");
  CHECK(go_compat::clean_path("/a/.") == "/a");
}

TEST_CASE("malformed escapes: in the path 400 and close, in the query 500 before everything else") {
  const auto path = refusal_to("GET", "/v1/kv/bad%zz");
  CHECK(path.status == 400);
  CHECK(path.body == "400 Bad Request");
  CHECK(path.close);
  for (const auto target : {"/v1/kv/a?flags=%zz", "/v1/kv/a?flags=%2", "/v1/status/leader?%", "/v1/kv/?a=b;%x=1"}) {
    const auto r = refusal_to("POST", target);
    CHECK(r.status == 500);
    CHECK(r.body.empty());
    CHECK(r.content_type.empty());
  }
}

TEST_CASE("paths with unprintable characters are 400, unless that is switched off") {
  for (const auto target :
       {"/v1/kv/a%00b", "/v1/kv/a%0Ab", "/v1/kv/a%7Fb", "/v1/kv/a%09b", "/v1/kv/%C2%A0", "/%01", "/v1/kv/%E2%80%8B"}) {
    const auto r = refusal_to("PUT", target, "1");
    INFO(target);
    CHECK(r.status == 400);
    CHECK(r.body.empty());
    auto s = usual_settings();
    s.unprintable_filter = false;
    const bool is_key = std::string_view(target) != "/%01";
    CHECK(std::holds_alternative<write_request>(ask("PUT", target, "1", {}, s).action) == is_key);
  }
  CHECK(written<state::kv_write>("PUT", "/v1/kv/a%FFb", "1").op.key == "a\xFF"
                                                                       "b");
}

TEST_CASE("targets that are not paths are rejected; absolute ones are parsed") {
  for (const auto target : {"", "v1/kv/a", "host:80", "/v1/kv/a b", "/v1/kv/a\r\nX: y"})
    CHECK(refusal_to("GET", target).status == 400);
  CHECK(std::get<state::kv_get>(read_requested("GET", "http://other:1/v1/kv/k").query).key == "k");
  CHECK(refusal_to("GET", "http://other").body == "Consul Agent");
}

TEST_CASE("blocked endpoints take precedence over the method, the method over the origin of a write") {
  auto s = usual_settings();
  s.block_endpoints = {"/v1/session"};
  s.allow_write_http_from = {"10.0.0.0/8", "::1/128"};
  const auto blocked = refusal_to("OPTIONS", "/v1/session/list", {}, {}, s);
  CHECK(blocked.status == 403);
  CHECK(blocked.body == "Endpoint is blocked by agent configuration");
  CHECK(refusal_to("POST", "/v1/kv/a", {}, {}, s).status == 405);
  const auto restricted = refusal_to("PUT", "/v1/kv/a", "1", {}, s);
  CHECK(restricted.status == 403);
  CHECK(restricted.body == "Access is restricted");
  CHECK(std::holds_alternative<read_request>(ask("GET", "/v1/kv/a", {}, {}, s).action));
  s.allow_write_http_from = {"127.0.0.0/8"};
  CHECK(std::holds_alternative<write_request>(ask("PUT", "/v1/kv/a", "1", {}, s).action));
}

TEST_CASE("networks") {
  struct row {
    const char *cidr, *address;
    bool inside;
  };
  for (const auto& t :
       {row{"10.0.0.0/8", "10.255.0.1", true}, row{"10.0.0.0/8", "11.0.0.1", false},
        row{"192.168.4.0/22", "192.168.7.255", true}, row{"192.168.4.0/22", "192.168.8.0", false},
        row{"0.0.0.0/0", "1.2.3.4", true}, row{"0.0.0.0/0", "fe80::1", false}, row{"fd00::/8", "fd12:3456::1", true},
        row{"fd00::/8", "fe00::1", false}, row{"::1/128", "::1", true}, row{"::1/128", "::2", false},
        row{"10.0.0.0/8", "::ffff:10.1.2.3", true}, row{"10.0.0.0/33", "10.0.0.1", false},
        row{"10.0.0.0", "10.0.0.0", false}, row{"10.0.0.0/8", "", false}, row{"10.0.0/8", "10.0.0.1", false},
        row{"1:2:3:4:5:6:7:8/128", "1:2:3:4:5:6:7:8", true}}) {
    INFO(t.cidr << " " << t.address);
    CHECK(network_contains(t.cidr, t.address) == t.inside);
  }
  for (const auto bad : {"1:2:3", "1::2::3", ":::", "1:2:3:4:5:6:7:8:9", "g::", "1.2.3.4.5", "256.1.1.1", "1:"})
    CHECK_FALSE(parse_ip(bad).has_value());
  CHECK_FALSE(parse_ip(std::string_view("1.2.3.4\0x", 9)).has_value());
}

TEST_CASE("consistency modes, Cache-Control, wait and index are checked in that order, on writes to keys too") {
  struct row {
    const char *target, *text;
  };
  for (const auto& t :
       {row{"?stale&consistent&wait=x", "Cannot specify ?stale with ?consistent, conflicting semantics."},
        row{"?cached&consistent", "Cannot specify ?cached with ?consistent, conflicting semantics."},
        row{"?max_stale=abc&index=x", "Invalid max_stale value \"abc\""},
        row{"?max_stale=10s&consistent", "Cannot specify ?stale with ?consistent, conflicting semantics."},
        row{"?wait=10&index=x", "Invalid wait time"}, row{"?wait=abc", "Invalid wait time"},
        row{"?wait=1x", "Invalid wait time"}, row{"?index=abc", "Invalid index"}, row{"?index=-1", "Invalid index"},
        row{"?index=1.5", "Invalid index"}, row{"?index=18446744073709551616", "Invalid index"}})
    for (const auto method : {"GET", "PUT", "DELETE"}) {
      const auto r = refusal_to(method, std::string("/v1/kv/a") + t.target);
      CHECK(r.status == 400);
      CHECK(r.body == t.text);
    }
  CHECK(refusal_to("GET", "/v1/kv/a?wait=x", {}, {{"cache-control", "max-age=abc"}}).body ==
        "Invalid Cache-Control header.");
  for (const auto fine : {"max-age=10", "no-cache", "must-revalidate, stale-if-error=5", ""})
    CHECK(std::holds_alternative<read_request>(ask("GET", "/v1/kv/a", {}, {{"Cache-Control", fine}}).action));
}

TEST_CASE("modes and times of reads") {
  using namespace std::chrono_literals;
  CHECK(read_requested("GET", "/v1/kv/a").mode == consistency::normal);
  CHECK(read_requested("GET", "/v1/kv/a?leader").mode == consistency::normal);
  CHECK(read_requested("GET", "/v1/kv/a?stale=false").mode == consistency::stale);
  CHECK(read_requested("GET", "/v1/kv/a?max_stale=10s").mode == consistency::stale);
  CHECK(read_requested("GET", "/v1/kv/a?max_stale=0s&consistent").mode == consistency::consistent);
  CHECK(read_requested("GET", "/v1/kv/a?index=&wait=").min_index == 0);
  CHECK(read_requested("GET", "/v1/kv/a?index=18446744073709551615").min_index == ~std::uint64_t{0});
  CHECK(read_requested("GET", "/v1/kv/a?index=5").wait == 5min);
  CHECK(read_requested("GET", "/v1/kv/a?index=5&wait=-1s").wait == 5min);
  CHECK(read_requested("GET", "/v1/kv/a?index=5&wait=0").wait == 5min);
  CHECK(read_requested("GET", "/v1/kv/a?index=5&wait=0.3s").wait == 300ms);
  CHECK(read_requested("GET", "/v1/kv/a?index=5&wait=3h").wait == 10min);
  auto s = usual_settings();
  s.discovery_max_stale = 1s;
  CHECK(read_requested("GET", "/v1/kv/a", {}, s).mode == consistency::normal);
  CHECK(read_requested("GET", "/v1/health/node/n", {}, s).mode == consistency::stale);
  CHECK(read_requested("GET", "/v1/catalog/nodes?leader", {}, s).mode == consistency::normal);
  s.consistent_by_default = true;
  CHECK(read_requested("GET", "/v1/kv/a", {}, s).mode == consistency::consistent);
  CHECK(read_requested("GET", "/v1/kv/a?index=5", {}, s).mode == consistency::consistent);
  CHECK(read_requested("GET", "/v1/session/list", {}, s).mode == consistency::consistent);
  CHECK(read_requested("GET", "/v1/kv/a?leader", {}, s).mode == consistency::normal);
  CHECK(read_requested("GET", "/v1/kv/a?stale", {}, s).mode == consistency::stale);
  CHECK(read_requested("GET", "/v1/kv/a?cached", {}, s).mode == consistency::normal);
  CHECK(read_requested("GET", "/v1/health/node/n", {}, s).mode == consistency::stale);
}

TEST_CASE("namespaces are rejected where the reference checks them") {
  const std::string in_query =
      "Bad request: Invalid query parameter: \"ns\" - Namespaces are a Consul Enterprise feature";
  const std::string in_header =
      "Bad request: Invalid header: \"X-Consul-Namespace\" - Namespaces are a Consul Enterprise feature";
  for (const auto target :
       {"/v1/kv/a?ns=x", "/v1/session/list?ns=x", "/v1/health/node/n?ns=x", "/v1/catalog/services?ns=x"}) {
    const auto r = refusal_to("GET", target);
    CHECK(r.status == 400);
    CHECK(r.body == in_query);
  }
  CHECK(refusal_to("GET", "/v1/kv/a", {}, {{"x-consul-namespace", "x"}}).body == in_header);
  CHECK(std::holds_alternative<read_request>(ask("GET", "/v1/kv/a?ns=").action));
  CHECK(std::holds_alternative<read_request>(ask("GET", "/v1/catalog/nodes?ns=x").action));
  // Keys and sessions check it after the options.
  CHECK(refusal_to("GET", "/v1/kv/a?ns=x&index=y").body == "Invalid index");
  CHECK(refusal_to("GET", "/v1/session/list?ns=x&index=y").body == "Invalid index");
}

TEST_CASE("another datacenter cannot be reached; reads that set meta headers late return that they know nothing") {
  for (const auto target : {"/v1/kv/a?dc=x", "/v1/status/leader?dc=x", "/v1/operator/raft/configuration?dc=x"}) {
    const auto r = refusal_to("GET", target);
    CHECK(r.status == 500);
    CHECK(r.body == "No path to datacenter");
    CHECK(header(r, "X-Consul-Index") == "(none)");
  }
  for (const auto target : {"/v1/session/list?dc=x", "/v1/catalog/nodes?dc=x", "/v1/health/state/any?dc=x"}) {
    const auto r = refusal_to("GET", target);
    CHECK(r.body == "No path to datacenter");
    CHECK(header(r, "X-Consul-Index") == "1");
    CHECK(header(r, "X-Consul-Knownleader") == "false");
    CHECK(header(r, "X-Consul-Lastcontact") == "0");
  }
  CHECK(std::holds_alternative<local_request>(ask("GET", "/v1/agent/self?dc=x").action));
  CHECK(std::holds_alternative<read_request>(ask("GET", "/v1/kv/a?dc=dc1").action));
}

TEST_CASE("requests that the node answers itself") {
  const auto local = [](const char* target, header_list headers = {}) {
    auto p = ask("GET", target, {}, std::move(headers));
    REQUIRE(std::holds_alternative<local_request>(p.action));
    return std::get<local_request>(p.action);
  };
  CHECK(local("/v1/status/leader").kind == local_kind::status_leader);
  CHECK(local("/v1/status/peers").kind == local_kind::status_peers);
  CHECK(local("/v1/agent/self").kind == local_kind::agent_self);
  CHECK(local("/v1/agent/members?segment=_all").kind == local_kind::agent_members);
  CHECK(local("/v1/agent/members?wan=1&segment=_all").wan);
  auto without_wan = usual_settings(); // `ports.serf_wan` -1
  without_wan.has_wan_pool = false;
  CHECK_FALSE(std::get<local_request>(ask("GET", "/v1/agent/members?wan=1", {}, {}, without_wan).action).wan);
  CHECK(local("/v1/catalog/datacenters?index=x").kind == local_kind::catalog_datacenters);
  CHECK(local("/v1/operator/raft/configuration?stale").stale);
  CHECK_FALSE(local("/v1/operator/raft/configuration").stale);
  CHECK_FALSE(local("/v1/agent/metrics", {{"Accept", "*/*"}}).prometheus);
  CHECK(local("/v1/agent/metrics?format=prometheus").prometheus);
  CHECK(local("/v1/agent/metrics", {{"Accept", "application/openmetrics-text;version=1.0.0,*/*"}}).prometheus);
  CHECK(refusal_to("GET", "/v1/status/leader?index=abc").body == "Invalid index");
  CHECK(refusal_to("GET", "/v1/agent/members?segment=x").status == 500);
  CHECK(refusal_to("GET", "/v1/agent/members?segment=x&wan=1").status == 400);
  auto s = usual_settings();
  s.prometheus = false;
  CHECK(refusal_to("GET", "/v1/agent/metrics?format=prometheus", {}, {}, s).status == 415);
  CHECK(std::get<local_request>(ask("PUT", "/v1/agent/reload").action).kind == local_kind::agent_reload);
  CHECK(std::get<local_request>(ask("PUT", "/v1/agent/leave").action).kind == local_kind::agent_leave);
  CHECK(local("/v1/agent/host").kind == local_kind::agent_host);
  CHECK(local("/v1/agent/monitor").text == "INFO");
  CHECK_FALSE(local("/v1/agent/monitor").log_json);
  CHECK(local("/v1/agent/monitor?loglevel=debug&logjson").text == "debug");
  CHECK(local("/v1/agent/monitor?loglevel=debug&logjson").log_json);
}

TEST_CASE("which server is to join, and which is to leave") {
  struct row {
    const char *target, *address;
  };
  for (const auto& t :
       {row{"10.0.0.4", "10.0.0.4:8300"}, row{"10.0.0.4:8301", "10.0.0.4:8301"}, row{"b.example", "b.example:8300"},
        row{"[::1]:8300", "[::1]:8300"}, row{"::1", "[::1]:8300"}}) {
    const auto r = std::get<local_request>(ask("PUT", std::string("/v1/agent/join/") + t.target).action);
    CHECK(r.kind == local_kind::agent_join);
    CHECK(r.text == t.address);
  }
  CHECK(refusal_to("PUT", "/v1/agent/join/").body ==
        "1 error occurred:\n\t* Failed to resolve : lookup : no such host\n\n"); // Consul's text
  for (const std::string bad : {"a:", "a:b", "a:0", ":8300"})
    CHECK(refusal_to("PUT", "/v1/agent/join/" + bad).status == 500);
  CHECK(refusal_to("PUT", "/v1/agent/join/" + std::string(5000, 'x')).status == 500);
  CHECK(refusal_to("PUT", "/v1/agent/join/a?wan=1").status == 400);
  const auto r = std::get<local_request>(ask("PUT", "/v1/agent/force-leave/n%201?prune").action);
  CHECK(r.kind == local_kind::force_leave);
  CHECK(r.forced.name == "n 1");
}

TEST_CASE("how the answer is to be written") {
  CHECK(ask("GET", "/v1/kv/a?pretty").options.pretty);
  CHECK_FALSE(ask("GET", "/v1/kv/a").options.pretty);
  auto s = usual_settings();
  s.pretty_always = true;
  CHECK(ask("GET", "/v1/kv/a", {}, {}, s).options.pretty);
  struct row {
    const char* accept;
    bool gzip;
  };
  for (const auto& t : {row{"gzip", true}, row{"deflate, GZIP;q=0.5", true}, row{"gzip;q=0", false},
                        row{"gzip; q=0.000", false}, row{"deflate", false}, row{"", false}, row{"xgzip", false}}) {
    INFO(t.accept);
    CHECK(ask("GET", "/v1/kv/a", {}, {{"Accept-Encoding", t.accept}}).options.gzip == t.gzip);
  }
  CHECK(ask("GET", "/v1/kv/a").route == "kv");
  CHECK(ask("GET", "/v1/nothing").route == "other");
}
