// Which requests accept `?cached`, the keys of their cached responses, and how a server reads them.

#include "tests/unit/protocol/http/requested.hpp"

using namespace belay;
using namespace belay::http;
using std::chrono::seconds;

namespace {

route_settings agents_settings() {
  auto s = usual_settings();
  s.client_agent = true;
  return s;
}

std::optional<cached_read> cached(std::string_view target, std::string_view control = {}) {
  header_list headers;
  if (!control.empty())
    headers.emplace_back("Cache-Control", control);
  return ask("GET", target, {}, headers, agents_settings()).cached;
}

} // namespace

TEST_CASE("cached: only where Consul keeps answers, and only with ?cached") {
  CHECK(cached("/v1/health/service/web?cached"));
  CHECK(cached("/v1/catalog/service/web?cached"));
  CHECK(cached("/v1/catalog/services?cached"));
  CHECK(cached("/v1/catalog/connect/web?cached"));
  CHECK(cached("/v1/health/connect/web?cached"));
  CHECK(cached("/v1/health/ingress/web?cached"));
  CHECK(cached("/v1/catalog/datacenters?cached"));
  for (const auto* target :
       {"/v1/health/service/web", "/v1/catalog/nodes?cached", "/v1/kv/a?cached", "/v1/health/node/n?cached",
        "/v1/health/service/web?cached&consistent", "/v1/health/service/web?cached&index=x",
        "/v1/agent/services?cached", "/v1/catalog/node/n?cached"}) {
    INFO(target);
    CHECK_FALSE(cached(target));
  }
  CHECK_FALSE(cached("/v1/health/service/web?cached", "max-age=x"));
  for (auto s : {agents_settings(), usual_settings()}) {
    s.use_cache = false;
    const auto p = ask("GET", "/v1/health/service/web?cached", {}, {}, s);
    CHECK_FALSE(p.cached);
    CHECK(std::get<read_request>(p.action).mode == consistency::normal);
  }
}

// Its tables are the cache. TestAPI_CatalogServiceCached of Consul uses a server.
TEST_CASE("cached: a server answers from its tables, even without a leader, and shows that as Consul does") {
  const auto p = ask("GET", "/v1/health/service/web?tag=b&cached&index=7&passing&near=_agent&pretty&token=secret");
  REQUIRE(p.cached);
  CHECK(p.cached->target == "/v1/health/service/web?tag=b"); // Consul's cache key does not depend on the rest
  CHECK_FALSE(p.for_servers);
  const auto& read = std::get<read_request>(p.action);
  CHECK(read.mode == consistency::stale);
  CHECK(read.cached);
  state::query_result none;
  none.data = state::service_instances{};
  render_options o;
  o.cache = cache_state{true, seconds(3)};
  auto answer = render_read(read, none, {}, o);
  CHECK(header(answer, "X-Cache") == "HIT");
  CHECK(header(answer, "Age") == "3");
  CHECK(header(answer, "X-Consul-Effective-Consistency") == "leader");
  answer = render_read_head(read, none, {}, {.cache = cache_state{}});
  CHECK(header(answer, "X-Cache") == "MISS");
  CHECK(header(answer, "Age") == "(none)");

  // A mode named by the client stays, and is shown.
  const auto stale = read_requested("GET", "/v1/catalog/service/web?cached&stale");
  CHECK(stale.mode == consistency::stale);
  CHECK_FALSE(stale.cached);
  CHECK(header(render_read(stale, none, {}, {}), "X-Consul-Effective-Consistency") == "stale");
  CHECK(header(render_read(stale, none, {}, {}), "X-Cache") == "(none)");
  // On other routes `?cached` is ignored: the read has the default mode.
  CHECK(read_requested("GET", "/v1/catalog/nodes?cached").mode == consistency::normal);
  // The agent that forwards a request has a cache of its own.
  const client_agent agent{"a", fresh_uuid, "10.0.0.9", false};
  const raw_request r{"GET", "/v1/health/service/web?cached", {}, {}, "10.0.0.9", request_time_ns, &agent};
  CHECK_FALSE(parse(r, usual_settings(), [] { return fresh_uuid; }).cached);
}

TEST_CASE("cached: the key of a response has everything that the response depends on, and nothing else") {
  const auto one =
      cached("/v1/health/service/web?tag=b&cached&index=7&passing&wait=3s&tag=a&token=secret&stale&pretty");
  REQUIRE(one);
  CHECK(one->target == "/v1/health/service/web?passing=&pretty=&stale=&tag=b&tag=a");
  CHECK(one->refreshed);
  CHECK(one->min_index == 7);
  CHECK(one->wait == seconds(3));
  CHECK(cached("/v1/health/service/a%20b?cached")->target == "/v1/health/service/a%20b");
  CHECK(cached("/v1/catalog/services?cached&node-meta=k:v")->target == "/v1/catalog/services?node-meta=k%3Av");
  CHECK_FALSE(cached("/v1/catalog/datacenters?cached")->refreshed);
}

TEST_CASE("cached: Cache-Control") {
  const auto c = cached("/v1/catalog/datacenters?cached", "Max-Age=30, stale-if-error=60");
  REQUIRE(c);
  CHECK(c->max_age == seconds(30));
  CHECK(c->stale_if_error == seconds(60));
  CHECK_FALSE(c->must_revalidate);
  CHECK(cached("/v1/catalog/datacenters?cached", "must-revalidate")->must_revalidate);
  CHECK(cached("/v1/catalog/datacenters?cached", "max-age=0")->must_revalidate);
  CHECK(cached("/v1/catalog/datacenters?cached", "stale-if-error=9223372036854775807")->stale_if_error >=
        seconds(3600));
}
