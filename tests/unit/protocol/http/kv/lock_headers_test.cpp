#include "protocol/http/render.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::http;

namespace {

std::string header(const response& r, std::string_view name) {
  for (const auto& [n, value] : r.headers)
    if (n == name)
      return value;
  return "(none)";
}

state::reply noted(bool yes, state::lock_note note) {
  state::reply r(yes);
  r.note = std::move(note);
  return r;
}

} // namespace

TEST_CASE("writes return their index only if they succeeded") {
  const state::command c = state::kv_write{};
  state::txn_reply failed;
  failed.errors = {{0, "x"}};
  struct row {
    const char* name;
    state::reply reply;
    const char* index;
  };
  const row rows[] = {
      {"done", true, "7"},
      {"answered false", false, "(none)"},
      {"a session", std::string("id"), "7"},
      {"a transaction", state::txn_reply{}, "7"},
      {"a transaction that failed", failed, "(none)"},
      {"refused", state::refusal{"why"}, "(none)"},
  };
  for (const auto& r : rows) {
    INFO(r.name);
    CHECK(header(render_write(c, r.reply, {}, log_index{7}), "X-Belay-Index") == r.index);
    CHECK(header(render_write(c, r.reply, {}), "X-Belay-Index") == "(none)"); // decided before the log
  }
}

TEST_CASE("a rejected acquire has its reason, beside the body of Consul") {
  const state::command c = state::kv_write{};
  auto r = render_write(c, noted(false, {state::refused_for::held, "s-1", 0, 0}), {}, log_index{7});
  CHECK(r.body == "false");
  CHECK(header(r, "X-Belay-Reason") == "held");
  CHECK(header(r, "X-Belay-Holder") == "s-1");
  CHECK(header(r, "X-Belay-Retry-After-Ms") == "(none)");
  r = render_write(c, noted(false, {state::refused_for::lock_delay, "", 1500, 0}), {});
  CHECK(r.body == "false");
  CHECK(header(r, "X-Belay-Reason") == "lock-delay");
  CHECK(header(r, "X-Belay-Retry-After-Ms") == "1500");
  CHECK(header(r, "X-Belay-Holder") == "(none)");
  r = render_write(c, noted(false, {state::refused_for::index, "", 0, 0}), {});
  CHECK(header(r, "X-Belay-Reason") == "index");
  r = render_write(c, noted(true, {state::refused_for::nothing, "", 0, 41}), {}, log_index{41});
  CHECK(r.body == "true");
  CHECK(header(r, "X-Belay-Fence") == "41");
  CHECK(header(r, "X-Belay-Reason") == "(none)");
}

TEST_CASE("remaining times and the holder's fencing token are part of a read") {
  state::kv_draft e;
  e.key = "k";
  e.value = make_payload("v");
  e.session = "s";
  e.fence = 12;
  e.modify_index = log_index{12};
  read_request one;
  one.query = state::kv_get{"k"};
  auto r = render_read(one, {log_index{12}, state::kv_entries{{e}}}, {}, {});
  CHECK(header(r, "X-Belay-Fence") == "12");
  CHECK(header(r, "X-Belay-Lock-Delay-Ms") == "(none)");
  read_request many;
  many.query = state::kv_list{"k"};
  CHECK(header(render_read(many, {log_index{12}, state::kv_entries{{e}}}, {}, {}), "X-Belay-Fence") == "(none)");
  r = render_read(one, {log_index{9}, state::kv_entries{}}, {0, true, 250, 0}, {});
  CHECK(r.status == 404);
  CHECK(header(r, "X-Belay-Lock-Delay-Ms") == "250");
  const auto s = std::make_shared<const state::session_record>();
  CHECK(header(render_renew("id", s, {}, 20000), "X-Belay-Session-Ttl-Ms") == "20000");
  CHECK(header(render_renew("id", s, {}), "X-Belay-Session-Ttl-Ms") == "(none)");
}
