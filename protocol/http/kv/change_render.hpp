#pragma once
// Changes of keys as JSON and as server-sent events (docs/changes.md).

#include "protocol/http/render.hpp"

#include <string>
#include <string_view>

namespace belay::http {

/// One element of a long poll's answer.
void append_change(std::string& out, const state::kv_change& c, bool keys_only);
/// A row of a snapshot, as if it had been written now.
void append_change(std::string& out, const state::kv_entry& row, bool keys_only);

/// One event, with its cursor as id. @param history of the change; none: the cursor names none
void append_event(std::string& out, const state::kv_change& c, state::history_id history, bool keys_only);
/// A row of a snapshot: without an id, because whoever is cut there has not got the state.
void append_event(std::string& out, const state::kv_entry& row, bool keys_only);
/// All that happened up to `reached` was sent.
void append_progress(std::string& out, const state::change_cursor& reached);
/// The state as it was at `index` follows, up to the next progress. The id 0 names no place: whoever is cut before that begins anew.
/// @param why empty: because the client has asked for it; else what the client knows is void
void append_snapshot_begin(std::string& out, log_index index, std::string_view why);
/// The stream ends. @param event `cut`, `refused` or `leaderless`
void append_end(std::string& out, std::string_view event, std::string_view why);
/// Shows only that the connection lives.
inline constexpr std::string_view event_comment = ":\n\n";

/// 410: what happened since the client's index is not known, because it has left the window or is
/// of another history.
/// @pre found.gone
response gone_response(const state::change_rows& found);
/// The head of a stream.
response render_stream_head();

} // namespace belay::http
