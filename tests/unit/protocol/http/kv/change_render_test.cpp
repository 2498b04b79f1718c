// Changes of keys as clients see them (docs/reference/changes.md).

#include "protocol/http/kv/change_render.hpp"

#include "protocol/http/list_rows.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

using namespace belay;
using namespace belay::http;

namespace {

state::kv_entry_ptr row(const std::string& key, const std::string& value, std::uint64_t flags = 0,
                        const std::string& session = {}) {
  state::kv_draft e;
  e.key = key;
  e.value = make_payload(value);
  e.flags = flags;
  e.session = session;
  e.create_index = e.modify_index = log_index{12};
  return e;
}

state::kv_change change(state::change_kind kind, std::uint64_t effect, state::kv_entry_ptr e) {
  return {log_index{12}, effect, kind, std::move(e), log_index{9}};
}

read_request asking() {
  return {state::kv_changes{{""}, {}}, consistency::normal, 0, {}};
}

} // namespace

TEST_CASE("changes are a list, and the index is the cursor to continue from", "[changes]") {
  state::change_rows rows;
  rows.list = {change(state::change_kind::set, 0, row("a", "hello", 7, "s")),
               change(state::change_kind::removed, 1, row("b", "gone", 7, "s"))};
  rows.reached = {log_index{12}, 1};
  const auto r = render_read(asking(), {log_index{12}, rows}, {}, {});
  CHECK(r.status == 200);
  CHECK(
      r.body ==
      R"([{"ID":"12.0","Event":"set","Key":"a","Value":"aGVsbG8=","Flags":7,"Session":"s","PreviousIndex":9,"Index":12},)"
      R"({"ID":"12.1","Event":"delete","Key":"b","Value":null,"Flags":0,"Session":"","PreviousIndex":9,"Index":12}])");
  CHECK(r.headers.front().second == "12.1");
  render_options keys;
  keys.keys_only = true;
  CHECK(render_read(asking(), {log_index{12}, rows}, {}, keys).body ==
        R"([{"ID":"12.0","Event":"set","Key":"a","PreviousIndex":9,"Index":12},)"
        R"({"ID":"12.1","Event":"delete","Key":"b","PreviousIndex":9,"Index":12}])");
}

TEST_CASE("no changes are an empty list, and dropped ones are 410 with the oldest retained index", "[changes]") {
  state::change_rows rows;
  rows.reached = state::change_position{log_index{40}};
  CHECK(render_read(asking(), {log_index{40}, rows}, {}, {}).body == "[]");
  CHECK(render_read(asking(), {log_index{40}, rows}, {}, {}).headers.front().second == "40");
  rows.gone = true;
  rows.floor = log_index{33};
  const auto r = render_read(asking(), {log_index{40}, rows}, {}, {});
  CHECK(r.status == 410);
  CHECK(r.body == "changes up to index 33 are no longer retained");
  for (const std::string_view name : {"X-Belay-Oldest-Index", "X-Belay-Floor"}) // now, and before 0.3.0
    CHECK(std::count(r.headers.begin(), r.headers.end(), std::pair<std::string_view, std::string>{name, "33"}) == 1);
  rows.other_history = true;
  const auto other = render_read(asking(), {log_index{40}, rows}, {}, {});
  CHECK(other.status == 410);
  CHECK(other.body == "the index is of another history: this cluster was formed, recovered or restored since then");
}

TEST_CASE("a header names the history, and what clients of 0.2.0 read is unchanged", "[changes]") {
  const auto headers_of = [](const state::change_rows& rows) {
    std::map<std::string, std::string> out;
    for (const auto& [name, value] : render_read(asking(), {log_index{40}, rows}, {}, {}).headers)
      out[std::string(name)] = value;
    return out;
  };
  state::change_rows rows;
  rows.list = {change(state::change_kind::set, 1, row("a", "v"))};
  rows.reached = {log_index{40}, 1};
  CHECK(headers_of(rows)["X-Consul-Index"] == "40.1");
  CHECK_FALSE(headers_of(rows).contains("X-Belay-Cursor"));
  rows.history = state::history_id{0x9f3c'2a1b'0000'0007};
  CHECK(headers_of(rows)["X-Consul-Index"] == "40.1");
  CHECK(headers_of(rows)["X-Belay-Cursor"] == "40.1@9f3c2a1b00000007");
  CHECK(render_read(asking(), {log_index{40}, rows}, {}, {}).body.starts_with(R"([{"ID":"12.1",)"));
  rows.gone = true; // there is nothing to resume from
  CHECK_FALSE(headers_of(rows).contains("X-Belay-Cursor"));
}

TEST_CASE("events have the id that their client continues from", "[changes]") {
  std::string out;
  append_event(out, change(state::change_kind::expired, 3, row("a", "v")), {}, false);
  CHECK(out == "id: 12.3\nevent: expired\n"
               R"(data: {"Key":"a","Value":null,"Flags":0,"Session":"","PreviousIndex":9,"Index":12})"
               "\n\n");
  out.clear();
  append_event(out, *row("a\n", "v"), true); // row of a snapshot; a data line cannot end early
  CHECK(out == "event: set\n"
               R"(data: {"Key":"a\n","PreviousIndex":0,"Index":12})"
               "\n\n");
  out.clear();
  append_progress(out, {state::change_position{log_index{13}}, {}});
  CHECK(out == "id: 13\nevent: progress\ndata: {\"Index\":13}\n\n");
  out.clear();
  const state::history_id history{0x9f3c'2a1b'0000'0007};
  append_progress(out, {state::change_position{log_index{13}}, history});
  CHECK(out == "id: 13@9f3c2a1b00000007\nevent: progress\ndata: {\"Index\":13}\n\n");
  out.clear();
  append_event(out, change(state::change_kind::set, 3, row("a", "v")), history, true);
  CHECK(out.starts_with("id: 12.3@9f3c2a1b00000007\nevent: set\n"));
  out.clear();
  append_snapshot_begin(out, log_index{13}, "not-retained");
  CHECK(out == "id: 0\nevent: reset\ndata: {\"Index\":13,\"Reason\":\"not-retained\"}\n\n");
  out.clear();
  append_snapshot_begin(out, log_index{13}, {});
  CHECK(out == "id: 0\nevent: snapshot\ndata: {\"Index\":13}\n\n");
}
