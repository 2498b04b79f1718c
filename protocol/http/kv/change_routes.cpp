// GET /v1/kv/PREFIX?recurse&changes, and earlier states of keys (docs/reference/changes.md).

#include "protocol/http/kv/change_routes.hpp"

#include "protocol/http/reading/claim_parameters.hpp"
#include "protocol/http/reading/query_options.hpp"

#include <algorithm>

namespace belay::http {

namespace {

// Each has an entry in the table of waiting queries.
constexpr std::size_t prefixes_max = 64;
// Limit for all of them: a stream keeps several copies.
constexpr std::size_t prefix_bytes_max = 16 * 1024;

refused read_prefixes(const request_context& c, std::vector<std::string>& out) {
  out = c.query.all("prefix");
  if (!c.argument.empty() || out.empty())
    out.insert(out.begin(), std::string(c.argument));
  if (out.size() > prefixes_max)
    return invalid_parameter("prefix", "more than " + std::to_string(prefixes_max));
  std::size_t bytes = 0;
  for (const auto& each : out)
    bytes += each.size();
  if (bytes > prefix_bytes_max && out.size() > 1)
    return invalid_parameter("prefix", "more than " + std::to_string(prefix_bytes_max) + " bytes in all");
  return std::nullopt;
}

refused read_kinds(const request_context& c, std::uint8_t& out) {
  if (!c.query.has("event"))
    return std::nullopt;
  out = 0;
  for (const auto& text : c.query.all("event")) {
    const auto known = state::named<state::change_kind>(text);
    if (!known)
      return invalid_parameter("event", "only \"set\", \"delete\" or \"expired\"");
    out |= static_cast<std::uint8_t>(1U << static_cast<unsigned>(*known));
  }
  return std::nullopt;
}

/// `4711`, `4711.3` or `4711.3@HISTORY`; index zero and an empty text are no position.
/// @returns false: malformed
bool read_position(std::string_view text, std::optional<state::change_cursor>& out) {
  out.reset();
  if (text.empty())
    return true;
  const auto found = state::read_cursor(text);
  if (found && !found->position.index.is_zero())
    out = found;
  return found.has_value();
}

/// The last id that the stream's client received. A malformed one was not returned by this
/// cluster: the client followed another history, or this one as a newer version names it.
std::optional<state::change_cursor> resumed_at(std::string_view last_event_id) {
  std::optional<state::change_cursor> at;
  if (!read_position(last_event_id, at))
    at = state::change_cursor{state::change_position{log_index{1}}, state::history_id::unreadable()};
  return at;
}

bool needs_stream(const request_context& c) {
  return c.accept.find("text/event-stream") != std::string_view::npos;
}

refused refuse_others(const request_context& c) {
  if (!c.query.has("recurse"))
    return invalid_parameter("changes", "only together with \"recurse\"");
  for (const std::string_view other : {"claims", "raw", "separator", "filter", "cached", "at", "history"})
    if (c.query.has(other))
      return invalid_parameter("changes", "not together with \"" + std::string(other) + "\"");
  return std::nullopt;
}

} // namespace

action changes_route(request_context& c) {
  query_options o;
  if (auto r = read_consistency(c, o))
    return std::move(*r);
  if (auto r = read_waiting(c, o))
    return std::move(*r);
  if (auto r = refuse_namespace(c))
    return std::move(*r);
  if (auto r = refuse_others(c))
    return std::move(*r);
  state::kv_changes requested;
  if (auto r = read_prefixes(c, requested.prefixes))
    return std::move(*r);
  if (auto r = read_kinds(c, requested.kinds))
    return std::move(*r);
  std::optional<state::change_cursor> named, resumed;
  if (!read_position(c.query.get("index"), named))
    return error_response(400, "Invalid index");
  const bool stream = needs_stream(c);
  const bool resumes = stream && !c.last_event_id.empty();
  if (resumes)
    resumed = resumed_at(c.last_event_id);
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  c.options.keys_only = c.query.has("keys");
  using what = state::kv_changes::what;
  // A stream that was cut off inside a snapshot has the id 0, and no state.
  requested.requested = resumed                              ? what::changes
                        : resumes || c.query.has("snapshot") ? what::snapshot
                        : named                              ? what::changes
                                                             : what::position;
  const auto from = resumed.value_or(named.value_or(state::change_cursor{{}, {}}));
  requested.after = from.position;
  requested.history = from.history;
  if (stream)
    return change_stream{state::query(std::move(requested)), o.mode};
  o.min_index = named ? named->position.index.value : 0;
  return make_read(state::query(std::move(requested)), o);
}

action past_route(request_context& c, const query_options& o) {
  if (c.argument.empty())
    return error_response(400, "Missing key name");
  if (auto r = refuse_datacenter(c))
    return std::move(*r);
  auto once = o;
  once.min_index = 0; // the past does not change
  if (!c.query.has("at"))
    return make_read(state::kv_history{std::string(c.argument)}, once);
  const auto then = state::read_cursor(c.query.get("at"));
  if (!then || !then->position.is_whole())
    return invalid_parameter("at", "no index");
  if (c.query.has("history"))
    return invalid_parameter("at", "not together with \"history\"");
  c.options.raw = c.query.has("raw");
  return make_read(state::kv_at{std::string(c.argument), then->position.index, then->history}, once);
}

} // namespace belay::http
