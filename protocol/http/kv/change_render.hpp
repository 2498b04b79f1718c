#pragma once
// Changes of keys as JSON and as server-sent events (docs/reference/changes.md).

#include "protocol/http/render.hpp"

#include <string>
#include <string_view>

namespace belay::http {

/// An element of a long poll's response.
void append_change(std::string& out, const state::kv_change& c, bool keys_only);
/// A row of a snapshot, as if it was written now.
void append_change(std::string& out, const state::kv_entry& row, bool keys_only);

/// An event, with its cursor as id.
/// @param history of the change; none: the cursor names none
void append_event(std::string& out, const state::kv_change& c, state::history_id history, bool keys_only);
/// A row of a snapshot: no id, because a client that is cut off there does not have the state.
void append_event(std::string& out, const state::kv_entry& row, bool keys_only);
/// Everything up to `reached` was sent.
void append_progress(std::string& out, const state::change_cursor& reached);
/// A snapshot at `index` follows, up to the next progress. Id 0: clients cut off before start over.
/// @param why empty: the client requested it; else why the client's state is invalid
void append_snapshot_begin(std::string& out, log_index index, std::string_view why);
/// The stream ends.
/// @param event `cut`, `refused` or `leaderless`
void append_end(std::string& out, std::string_view event, std::string_view why);
/// Keeps the connection alive.
inline constexpr std::string_view event_comment = ":\n\n";

/// 410: changes since the client's index are unknown, because
/// it has left the window or belongs to another history.
/// @pre found.gone
response gone_response(const state::change_rows& found);
/// The head of a stream.
response render_stream_head();

} // namespace belay::http
