// Which requests of a client agent's clients may be answered from its cache, and by what their answers are known.

#include "tests/unit/protocol/http/asked.hpp"

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

TEST_CASE("cached: only where Consul keeps answers, only with ?cached, only on client agents") {
  CHECK(cached("/v1/health/service/web?cached"));
  CHECK(cached("/v1/catalog/service/web?cached"));
  CHECK(cached("/v1/catalog/services?cached"));
  CHECK(cached("/v1/catalog/datacenters?cached"));
  for (const auto* target :
       {"/v1/health/service/web", "/v1/catalog/nodes?cached", "/v1/kv/a?cached", "/v1/health/node/n?cached",
        "/v1/health/service/web?cached&consistent", "/v1/health/service/web?cached&index=x",
        "/v1/agent/services?cached", "/v1/catalog/node/n?cached"}) {
    INFO(target);
    CHECK_FALSE(cached(target));
  }
  CHECK_FALSE(cached("/v1/health/service/web?cached", "max-age=x"));
  CHECK_FALSE(ask("GET", "/v1/health/service/web?cached").cached); // a server
  auto s = agents_settings();
  s.use_cache = false;
  CHECK_FALSE(ask("GET", "/v1/health/service/web?cached", {}, {}, s).cached);
}

TEST_CASE("cached: what decides about the answer is part of its name, and nothing else") {
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
