#include "protocol/http/kv/change_render.hpp"

#include "protocol/base/renamed_names.hpp"
#include "protocol/go_compat/base64.hpp"
#include "protocol/go_compat/json_output.hpp"

namespace belay::http {

namespace {

constexpr const auto& oldest_index_header = renamed(name_kind::header, "X-Belay-Oldest-Index");

/// @param removed the value no longer exists
void append_members(std::string& out, const state::kv_entry& row, bool removed, log_index previous, log_index index,
                    bool keys_only) {
  go_compat::append_json_member(out, "Key", row.key);
  if (!keys_only) {
    go_compat::append_json_name(out, "Value");
    if (removed || row.value->empty())
      out += "null";
    else {
      out += '"';
      go_compat::append_base64(out, *row.value);
      out += '"';
    }
    go_compat::append_json_number_member(out, "Flags", removed ? 0 : row.flags);
    go_compat::append_json_member(out, "Session", removed ? std::string_view() : row.session);
  }
  go_compat::append_json_number_member(out, "PreviousIndex", previous.value);
  go_compat::append_json_number_member(out, "Index", index.value);
}

void append_members(std::string& out, const state::kv_change& c, bool keys_only) {
  append_members(out, *c.row, c.kind != state::change_kind::set, c.previous, c.index, keys_only);
}

std::string id_of(const state::kv_change& c) {
  return to_string(state::change_position{c.index, c.effect});
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  ((out += name) += ": ") += value;
  out += '\n';
}

template <class Members>
void append_data(std::string& out, Members members) {
  out += "data: {";
  members();
  out += "}\n\n";
}

} // namespace

void append_change(std::string& out, const state::kv_change& c, bool keys_only) {
  out += '{';
  go_compat::append_json_member(out, "ID", id_of(c));
  go_compat::append_json_member(out, "Event", name_of(c.kind));
  append_members(out, c, keys_only);
  out += '}';
}

void append_change(std::string& out, const state::kv_entry& row, bool keys_only) {
  out += '{';
  go_compat::append_json_member(out, "Event", name_of(state::change_kind::set));
  append_members(out, row, false, {}, row.modify_index, keys_only);
  out += '}';
}

void append_event(std::string& out, const state::kv_change& c, state::history_id history, bool keys_only) {
  append_field(out, "id", to_string(state::change_cursor{{c.index, c.effect}, history}));
  append_field(out, "event", name_of(c.kind));
  append_data(out, [&] { append_members(out, c, keys_only); });
}

void append_event(std::string& out, const state::kv_entry& row, bool keys_only) {
  append_field(out, "event", name_of(state::change_kind::set));
  append_data(out, [&] { append_members(out, row, false, {}, row.modify_index, keys_only); });
}

void append_progress(std::string& out, const state::change_cursor& reached) {
  append_field(out, "id", to_string(reached));
  append_field(out, "event", "progress");
  append_data(out, [&] { go_compat::append_json_number_member(out, "Index", reached.position.index.value); });
}

void append_snapshot_begin(std::string& out, log_index index, std::string_view why) {
  append_field(out, "id", "0");
  append_field(out, "event", why.empty() ? "snapshot" : "reset");
  append_data(out, [&] {
    go_compat::append_json_number_member(out, "Index", index.value);
    if (!why.empty())
      go_compat::append_json_member(out, "Reason", why);
  });
}

void append_end(std::string& out, std::string_view event, std::string_view why) {
  append_field(out, "event", event);
  append_data(out, [&] { go_compat::append_json_member(out, "Reason", why); });
}

response gone_response(const state::change_rows& found) {
  const auto oldest = to_string(found.floor);
  auto r = error_response(
      410, found.other_history
               ? "the index is of another history: this cluster was formed, recovered or restored since then"
               : "changes up to index " + oldest + " are no longer retained");
  for (const auto name : {oldest_index_header.name, oldest_index_header.old_name})
    r.headers.emplace_back(name, oldest);
  return r;
}

response render_stream_head() {
  response r;
  r.content_type = "text/event-stream";
  r.headers.emplace_back("Cache-Control", "no-store");
  r.headers.emplace_back("X-Accel-Buffering", "no"); // tells proxies that support it not to buffer
  return r;
}

} // namespace belay::http
