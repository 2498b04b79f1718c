// Requests for changes of keys, and for earlier states of keys (docs/reference/changes.md).

#include "tests/unit/protocol/http/requested.hpp"

using namespace belay;
using namespace belay::http;
using namespace std::chrono_literals;
using kind_requested = state::kv_changes::what;
using position_in_feed = state::change_position;

namespace {

const state::kv_changes& polled(const parsed_request& p) {
  REQUIRE(std::holds_alternative<read_request>(p.action));
  return std::get<state::kv_changes>(std::get<read_request>(p.action).query);
}
const state::kv_changes& streamed(const parsed_request& p) {
  REQUIRE(std::holds_alternative<change_stream>(p.action));
  return std::get<state::kv_changes>(std::get<change_stream>(p.action).query);
}

parsed_request ask_stream(std::string_view target, std::string_view last_event_id = {}) {
  header_list headers{{"Accept", "text/event-stream"}};
  if (!last_event_id.empty())
    headers.emplace_back("Last-Event-ID", last_event_id);
  return ask("GET", target, {}, std::move(headers));
}

} // namespace

TEST_CASE("a long poll of changes has keys, kinds and a cursor", "[changes]") {
  const auto p =
      ask("GET", "/v1/kv/a/?recurse&changes&index=4711.3&wait=20s&prefix=b/&prefix=c&event=set&event=expired&keys");
  const auto& q = polled(p);
  CHECK(q.prefixes == std::vector<std::string>{"a/", "b/", "c"});
  CHECK(q.after == position_in_feed{log_index{4711}, 3});
  CHECK(q.requested == kind_requested::changes);
  CHECK(q.includes(state::change_kind::set));
  CHECK_FALSE(q.includes(state::change_kind::removed));
  CHECK(q.includes(state::change_kind::expired));
  CHECK(p.options.keys_only);
  const auto& r = std::get<read_request>(p.action);
  CHECK(r.min_index == 4711);
  CHECK(r.wait == 20s);
}

TEST_CASE("a plain index means all of its changes; none means the present", "[changes]") {
  CHECK(polled(ask("GET", "/v1/kv/?recurse&changes&index=7")).after == position_in_feed{log_index{7}});
  CHECK(polled(ask("GET", "/v1/kv/?recurse&changes&index=7")).prefixes == std::vector<std::string>{""});
  CHECK(polled(ask("GET", "/v1/kv/?recurse&changes&prefix=a")).prefixes == std::vector<std::string>{"a"});
  const auto none = ask("GET", "/v1/kv/a?recurse&changes");
  CHECK(polled(none).requested == kind_requested::position);
  CHECK(std::get<read_request>(none.action).min_index == 0);
  const auto state = ask("GET", "/v1/kv/a?recurse&changes&snapshot&index=9&stale");
  CHECK(polled(state).requested == kind_requested::snapshot);
  CHECK(polled(state).after == position_in_feed{log_index{9}});
  CHECK(std::get<read_request>(state.action).mode == consistency::stale);
}

TEST_CASE("a stream continues after the last id that its client has received", "[changes]") {
  CHECK(streamed(ask_stream("/v1/kv/a?recurse&changes")).requested == kind_requested::position);
  CHECK(streamed(ask_stream("/v1/kv/a?recurse&changes&index=5")).after == position_in_feed{log_index{5}});
  CHECK(streamed(ask_stream("/v1/kv/a?recurse&changes&snapshot")).requested == kind_requested::snapshot);
  const auto again = ask_stream("/v1/kv/a?recurse&changes&snapshot&index=5", "4711.3");
  CHECK(streamed(again).requested == kind_requested::changes);
  CHECK(streamed(again).after == position_in_feed{log_index{4711}, 3});
  // Cut inside a snapshot: the client has no consistent state.
  CHECK(streamed(ask_stream("/v1/kv/a?recurse&changes&index=5", "0")).requested == kind_requested::snapshot);
  // An id that this server did not send: its client has followed something else, and must not get
  // the answer that it missed nothing.
  for (const auto* id : {"x", "5.3@", "5.3@0000000000000000", "5.3@9f3c2a1b00000007x"}) {
    const auto strange = ask_stream("/v1/kv/a?recurse&changes&index=5", id);
    CHECK(streamed(strange).requested == kind_requested::changes);
    CHECK(streamed(strange).history == state::history_id::unreadable());
  }
}

TEST_CASE("a cursor may name its history", "[changes]") {
  const state::history_id history{0x9f3c'2a1b'0000'0007};
  const auto poll = ask("GET", "/v1/kv/a?recurse&changes&index=4711.3@9f3c2a1b00000007&wait=1s");
  CHECK(polled(poll).after == position_in_feed{log_index{4711}, 3});
  CHECK(polled(poll).history == history);
  CHECK(std::get<read_request>(poll.action).min_index == 4711);
  CHECK(polled(ask("GET", "/v1/kv/a?recurse&changes&index=4711.3%409f3c2a1b00000007")).history == history);
  CHECK(polled(ask("GET", "/v1/kv/a?recurse&changes&index=4711.3")).history.is_none());
  CHECK(streamed(ask_stream("/v1/kv/a?recurse&changes", "4711.3@9f3c2a1b00000007")).history == history);
  CHECK(streamed(ask_stream("/v1/kv/a?recurse&changes&index=1@9f3c2a1b00000007", "4711.3")).history.is_none());
  // Cut inside a snapshot.
  CHECK(streamed(ask_stream("/v1/kv/a?recurse&changes", "0")).history.is_none());
  const auto at = ask("GET", "/v1/kv/a/b?at=17@9f3c2a1b00000007");
  CHECK(std::get<state::kv_at>(std::get<read_request>(at.action).query) == state::kv_at{"a/b", log_index{17}, history});
  const auto part = ask("GET", "/v1/kv/a/b?at=17.0");
  CHECK(std::get<response>(part.action).body == "Invalid at: no index");
}

TEST_CASE("errors in a request for changes are reported", "[changes]") {
  const auto received = [](std::string_view target) {
    const auto p = ask("GET", target);
    const auto* r = std::get_if<response>(&p.action);
    return r == nullptr ? std::string("nothing") : std::to_string(r->status) + ' ' + r->body;
  };
  CHECK(received("/v1/kv/a?changes") == "400 Invalid changes: only together with \"recurse\"");
  CHECK(received("/v1/kv/a?recurse&changes&raw") == "400 Invalid changes: not together with \"raw\"");
  CHECK(received("/v1/kv/a?recurse&changes&index=x") == "400 Invalid index");
  CHECK(received("/v1/kv/a?recurse&changes&index=1.") == "400 Invalid index");
  CHECK(received("/v1/kv/a?recurse&changes&index=1.-2") == "400 Invalid index");
  CHECK(received("/v1/kv/a?recurse&changes&wait=x") == "400 Invalid wait time");
  CHECK(received("/v1/kv/a?recurse&changes&event=put") == "400 Invalid event: only \"set\", \"delete\" or \"expired\"");
  std::string many = "/v1/kv/?recurse&changes";
  for (int i = 0; i < 65; ++i)
    many += "&prefix=" + std::to_string(i);
  CHECK(received(many) == "400 Invalid prefix: more than 64");
  CHECK(received("/v1/kv/a?at=x") == "400 Invalid at: no index");
  CHECK(received("/v1/kv/a?at=1&history") == "400 Invalid at: not together with \"history\"");
  CHECK(received("/v1/kv/?at=1") == "400 Missing key name");
}

TEST_CASE("a key as it was, and its changes", "[changes]") {
  const auto at = ask("GET", "/v1/kv/a/b?at=17&raw");
  CHECK(std::get<state::kv_at>(std::get<read_request>(at.action).query) == state::kv_at{"a/b", log_index{17}});
  CHECK(at.options.raw);
  const auto past = ask("GET", "/v1/kv/a/b?history&index=5");
  CHECK(std::get<state::kv_history>(std::get<read_request>(past.action).query).key == "a/b");
  CHECK(std::get<read_request>(past.action).min_index == 0);
}
