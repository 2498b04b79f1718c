#pragma once
// Public names that 0.3.0 has renamed: the only list of them. Until 0.4.0, requests, configuration
// and command line take the old names, too, and answers carry both. docs/operate/upgrading.md has
// the same table for users; tests compare them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace belay {

enum class name_kind : std::uint8_t {
  route,      ///< method and path of a request
  member,     ///< of JSON in a response: it has both
  header,     ///< of a response: it has both
  value,      ///< of a member or header. It cannot have both: only what is sent to an old route keeps the old one
  config_key, ///< path of a configuration key
  metric,     ///< both, unless `telemetry.old_names` is false
  command,    ///< words of a command of the program
  option,     ///< of a command
  printed,    ///< member of JSON that a command prints: it has both
  variable,   ///< environment variable of a command that `belay` runs: it gets both
};

struct renamed_name {
  name_kind kind = name_kind::route;
  std::string_view old_name, name;
  std::string_view where; ///< column of the table in docs/operate/upgrading.md
};

inline constexpr renamed_name renamed_names[] = {
    {name_kind::route, "PUT /v1/claim/NAME/hand-over", "PUT /v1/claim/NAME/transfer",
     "request; the present one has no `session`"},
    {name_kind::route, "DELETE /v1/outcome/KEY", "PUT /v1/outcome/KEY/cancel",
     "request; the response to the old one has the `State` `void`"},

    {name_kind::member, "Place", "Position", "JSON: a waiter in `/v1/claim`"},
    {name_kind::member, "Pinned", "LimitFixed", "JSON: a semaphore in `/v1/claim`"},
    {name_kind::member, "SinceMs", "HeldMs", "JSON: a holder in `/v1/claim` and `/v1/claims`"},
    {name_kind::member, "LeftMs", "RemainingMs", "JSON: a lock delay in `/v1/claim`"},
    {name_kind::member, "Cut", "Truncated", "JSON: `/v1/claims/graph`"},
    {name_kind::member, "Hidden", "Redacted", "JSON: an edge in `/v1/claims/graph`"},
    {name_kind::member, "AgoMs", "EndedMsAgo", "JSON: `/v1/session/ended`"},

    {name_kind::header, "X-Belay-Floor", "X-Belay-Oldest-Index", "header: a 410 of the change feed"},

    {name_kind::value, "handed-over", "transferred", "value of `X-Belay-Reason`: how a claim ended"},
    {name_kind::value, "floor", "not-retained", "value of `Reason`: the event `reset` in a stream of changes"},
    {name_kind::value, "void", "cancelled", "value of `State`: `/v1/outcome`"},
    {name_kind::value, "sealed", "cancelled", "value of `X-Belay-Reason`: a 410 of a write with an idempotency key"},

    {name_kind::config_key, "admit_unverified_servers", "allow_unauthenticated_servers", "configuration"},
    {name_kind::config_key, "http_config.fronts", "http_config.threads", "configuration"},

    {name_kind::metric, "changes.floor", "changes.oldest_index", "metric"},
    {name_kind::metric, "changes.streams_behind", "changes.lagging_streams", "metric"},
    {name_kind::metric, "http.held_bytes", "http.buffered_bytes", "metric"},

    {name_kind::command, "outcome seal", "outcome cancel", "command; the `State` that it prints is `cancelled`, too"},
    {name_kind::command, "session why", "session explain", "command"},
    {name_kind::option, "place", "cursor-file", "option of `belay watch`"},
    {name_kind::printed, "Place", "Cursor", "printed JSON: lines `gap` and `snapshot` of `belay watch`"},
    {name_kind::printed, "TTLLeftMs", "TTLRemainingMs", "printed JSON: `belay session renew -format=json`"},
    {name_kind::variable, "BELAY_PLACE", "BELAY_CURSOR", "variable of the command that `belay watch` runs"},
};

/// The row of a name that is in the table; of any other one this does not compile.
consteval const renamed_name& renamed(name_kind kind, std::string_view name) {
  std::size_t i = 0;
  while (renamed_names[i].kind != kind || renamed_names[i].name != name)
    ++i; // past the end: no such row, a compile error
  return renamed_names[i];
}

/// The row whose old name this is; nullptr: none.
constexpr const renamed_name* find_old_name(name_kind kind, std::string_view old_name) {
  const auto* found = std::find_if(std::begin(renamed_names), std::end(renamed_names), [&](const renamed_name& each) {
    return each.kind == kind && each.old_name == old_name;
  });
  return found == std::end(renamed_names) ? nullptr : found;
}

/// The row whose present name this is; nullptr: the name is not new.
constexpr const renamed_name* find_new_name(name_kind kind, std::string_view name) {
  const auto* found = std::find_if(std::begin(renamed_names), std::end(renamed_names),
                                   [&](const renamed_name& each) { return each.kind == kind && each.name == name; });
  return found == std::end(renamed_names) ? nullptr : found;
}

/// The present name of a value; the value itself if it was not renamed.
constexpr std::string_view present_value(std::string_view value) {
  const auto* row = find_old_name(name_kind::value, value);
  return row == nullptr ? value : row->name;
}

/// Warning of a command to the user of an old name; servers log the same (old_names.hpp).
inline std::string old_name_warning(const renamed_name& row) {
  const std::string_view dash = row.kind == name_kind::option ? "-" : "";
  std::string out;
  out.append(dash).append(row.old_name).append(" is deprecated and ends with 0.4.0: use ");
  return out.append(dash).append(row.name).append(" (docs/operate/upgrading.md)");
}

} // namespace belay
