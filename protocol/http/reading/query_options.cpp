#include "protocol/http/reading/query_options.hpp"

#include "protocol/base/mutants.hpp"
#include "protocol/go_compat/duration.hpp"
#include "protocol/go_compat/syntax.hpp"

#include <algorithm>
#include <limits>

namespace belay::http {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

/// Go's Atoi. Negative numbers count as zero; capped at a hundred years.
std::optional<std::chrono::seconds> seconds_of(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (!text.empty() && (text.front() == '-' || text.front() == '+'))
    text.remove_prefix(1);
  const auto n = go_compat::parse_uint(text);
  if (!n || *n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return std::nullopt;
  constexpr std::uint64_t century = 100ull * 365 * 24 * 3600;
  return std::chrono::seconds(negative ? 0 : static_cast<std::int64_t>(std::min(*n, century)));
}

bool is_discovery(std::string_view path) {
  return path.substr(0, 11) == "/v1/catalog" || path.substr(0, 10) == "/v1/health";
}

} // namespace

std::optional<cache_control> read_cache_control(std::string_view header) {
  cache_control out;
  const auto lower = go_compat::lower_case(header);
  std::string_view rest = lower;
  while (!rest.empty()) {
    const auto end = std::min(rest.find(','), rest.size());
    const auto directive = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    out.must_revalidate = out.must_revalidate || directive == "must-revalidate";
    for (const std::string_view name : {"max-age=", "stale-if-error="}) {
      if (!directive.starts_with(name))
        continue;
      const auto seconds = seconds_of(directive.substr(name.size()));
      if (!seconds)
        return std::nullopt;
      if (name == "max-age=")
        out.max_age = *seconds;
      else
        out.stale_if_error = *seconds;
    }
  }
  out.must_revalidate = out.must_revalidate || out.max_age == std::chrono::seconds(0); // as Consul parses it
  return out;
}

refused read_consistency(const request_context& c, query_options& out) {
  bool stale = c.query.has("stale");
  bool consistent = c.query.has("consistent");
  const bool cached = c.query.has("cached");
  if (const auto text = c.query.get("max_stale"); !text.empty()) {
    const auto limit = go_compat::parse_duration(text);
    if (!limit)
      return error_response(400, "Invalid max_stale value " + go_compat::quoted(text));
    stale = stale || limit->count() > 0;
  }
  if (stale && consistent)
    return error_response(400, "Cannot specify ?stale with ?consistent, conflicting semantics.");
  if (cached && consistent)
    return error_response(400, "Cannot specify ?cached with ?consistent, conflicting semantics.");
  const bool unspecified = !stale && !consistent && !cached && !c.query.has("leader");
  if (unspecified && c.settings.discovery_max_stale.count() > 0)
    stale = is_discovery(c.path);
  if (unspecified && !stale)
    consistent = c.settings.consistent_by_default && !MUTANT(default_consistency_ignored);
  out.mode = stale ? consistency::stale : consistent ? consistency::consistent : consistency::normal;
  if (!c.cache_control.empty() && !read_cache_control(c.cache_control))
    return error_response(400, "Invalid Cache-Control header.");
  return std::nullopt;
}

refused read_waiting(const request_context& c, query_options& out) {
  out.wait = std::chrono::nanoseconds{0};
  if (const auto text = c.query.get("wait"); !text.empty()) {
    const auto wait = go_compat::parse_duration(text);
    if (!wait)
      return error_response(400, "Invalid wait time");
    out.wait = *wait;
  }
  // docs/contract/02, section 4: a missing or invalid time is the default; cap before jitter.
  if (out.wait.count() <= 0)
    out.wait = c.settings.default_query_time;
  out.wait = std::min(out.wait, c.settings.max_query_time);
  return std::nullopt;
}

refused read_query_options(const request_context& c, query_options& out) {
  if (auto r = read_consistency(c, out))
    return r;
  if (auto r = read_waiting(c, out))
    return r;
  if (const auto text = c.query.get("index"); !text.empty()) {
    const auto index = go_compat::parse_uint(text);
    if (!index)
      return error_response(400, "Invalid index");
    out.min_index = *index;
  }
  return std::nullopt;
}

} // namespace belay::http
