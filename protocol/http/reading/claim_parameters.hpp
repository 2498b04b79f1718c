#pragma once
// Parameters of claims, fences and queued acquires (docs/reference/http-extensions.md). Errors are 400.

#include "protocol/http/request_context.hpp"
#include "protocol/state/commands.hpp"

#include <optional>

namespace belay::http {

/// 400 `Invalid NAME: WHY`.
response invalid_parameter(std::string_view name, std::string_view why);

/// Absent: nullopt.
refused read_count(const request_context& c, std::string_view name, std::optional<std::uint64_t>& out);
/// A name of an enumerator; absent: nullopt.
template <state::named_enum Enum>
refused read_named(const request_context& c, std::string_view name, std::optional<Enum>& out) {
  if (!c.query.has(name))
    return std::nullopt;
  out = state::named<Enum>(c.query.get(name));
  if (out)
    return std::nullopt;
  std::string known;
  for (const auto each : state::names_of<Enum>)
    known.append(known.empty() ? "" : ", ").append(each);
  return invalid_parameter(name, "one of " + known);
}

/// Max wait for a lock, capped at the longest blocking query. Absent or zero: do not wait.
/// @param name `queue` of an acquire, `wait` of a claim. Go's Consul client sends `wait` with
/// every request if WaitTime is set, so it must have no effect on writes to Consul's paths.
refused read_wait_time(const request_context& c, std::string_view name, std::chrono::nanoseconds& out);
/// `?deadlock=refuse`.
refused read_deadlock(const request_context& c, bool& refuse);
/// `?claim=NAME` or `?lock=KEY`; neither: nullopt, both: rejected.
refused read_resource(const request_context& c, std::optional<state::resource_name>& out);
/// `?fence=N` with `?claim=NAME` or `?lock=KEY`; none of them: nullopt.
refused read_fence(const request_context& c, std::optional<state::fence_ref>& out);

} // namespace belay::http
