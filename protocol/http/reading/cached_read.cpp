#include "protocol/http/reading/cached_read.hpp"

#include "protocol/http/reading/query_options.hpp"

#include <array>

namespace belay::http {

namespace {

/// Parameters that do not change the response. The token is a separate part of the key.
constexpr auto not_of_the_answer = std::to_array<std::string_view>({"cached", "index", "wait", "token"});
/// Parameters that do not change the rows read, which are what Consul caches.
constexpr auto not_of_the_rows = std::to_array<std::string_view>(
    {"cached", "index", "wait", "token", "leader", "max_stale", "near", "passing", "pretty", "stale"});

std::string query_of(const request_context& c) {
  return c.settings.client_agent ? c.query.encoded_without(not_of_the_answer)
                                 : c.query.encoded_without(not_of_the_rows);
}

} // namespace

std::optional<cached_read> cached_read_of(const request_context& c, const route& r, const action& wanted) {
  const auto how = caching_of(r);
  if (how == caching::none || !c.settings.use_cache || !c.query.has("cached") || c.query.has("consistent"))
    return std::nullopt;
  const auto control = read_cache_control(c.cache_control);
  if (!control)
    return std::nullopt;
  cached_read out;
  out.target = go_compat::escape_path(c.path);
  if (const auto query = query_of(c); !query.empty())
    out.target.append("?").append(query);
  out.refreshed = how == caching::refreshed;
  if (const auto* read = std::get_if<read_request>(&wanted)) {
    out.min_index = read->min_index;
    out.wait = read->wait;
  }
  out.max_age = control->max_age;
  out.must_revalidate = control->must_revalidate;
  out.stale_if_error = control->stale_if_error;
  return out;
}

void read_as_cached(const cached_read& c, action& wanted) {
  auto* read = std::get_if<read_request>(&wanted);
  if (read == nullptr || !c.refreshed || read->mode != consistency::normal)
    return;
  read->mode = consistency::stale;
  read->cached = true;
}

void add_cache_headers(response& r, const cache_state& cache) {
  r.headers.emplace_back("X-Cache", cache.hit ? "HIT" : "MISS");
  if (cache.hit)
    r.headers.emplace_back("Age", std::to_string(cache.age.count()));
}

} // namespace belay::http
