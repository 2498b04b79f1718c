#include "protocol/http/reading/claim_parameters.hpp"

#include "protocol/go_compat/duration.hpp"
#include "protocol/go_compat/syntax.hpp"

#include <algorithm>

namespace belay::http {

response invalid_parameter(std::string_view name, std::string_view why) {
  return error_response(400, "Invalid " + std::string(name) + ": " + std::string(why));
}

refused read_count(const request_context& c, std::string_view name, std::optional<std::uint64_t>& out) {
  if (!c.query.has(name))
    return std::nullopt;
  out = go_compat::parse_uint(c.query.get(name));
  return out ? std::nullopt : refused(invalid_parameter(name, "it must be a number"));
}

refused read_wait_time(const request_context& c, std::string_view name, std::chrono::nanoseconds& out) {
  out = std::chrono::nanoseconds{0};
  const auto text = c.query.get(name);
  if (text.empty())
    return std::nullopt;
  const auto wait = go_compat::parse_duration(text);
  if (!wait)
    return invalid_parameter(name, go_compat::duration_complaint(text));
  out = std::clamp(*wait, std::chrono::nanoseconds{0}, c.settings.max_query_time);
  return std::nullopt;
}

refused read_deadlock(const request_context& c, bool& refuse) {
  refuse = c.query.has("deadlock");
  if (refuse && c.query.get("deadlock") != "refuse")
    return invalid_parameter("deadlock", "only \"refuse\"");
  return std::nullopt;
}

refused read_resource(const request_context& c, std::optional<state::resource_name>& out) {
  const bool claim = c.query.has("claim");
  const bool lock = c.query.has("lock");
  if (!claim && !lock)
    return std::nullopt;
  const auto* const name = claim ? "claim" : "lock";
  if (claim && lock)
    return invalid_parameter(name, "not together with \"lock\"");
  if (c.query.get(name).empty())
    return invalid_parameter(name, "missing");
  out = {std::string(c.query.get(name)), claim ? state::claim_space::claims : state::claim_space::keys};
  return std::nullopt;
}

refused read_fence(const request_context& c, std::optional<state::fence_ref>& out) {
  std::optional<state::resource_name> of;
  std::optional<std::uint64_t> number;
  if (auto r = read_count(c, "fence", number))
    return r;
  if (auto r = read_resource(c, of))
    return r;
  if (!number && !of)
    return std::nullopt;
  if (!number)
    return invalid_parameter("fence", "missing");
  if (!of)
    return invalid_parameter("fence", "\"claim\" or \"lock\" must name what the fencing token belongs to");
  out = {std::move(*of), *number};
  return std::nullopt;
}

} // namespace belay::http
