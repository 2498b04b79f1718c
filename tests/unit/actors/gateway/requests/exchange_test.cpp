// Properties of a request: which may overtake, which may wait, and which fields are copied.

#include "actors/gateway/requests/exchange.hpp"
#include "actors/gateway/requests/logged_request.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::actors;
using namespace std::chrono_literals;

namespace {

exchange::requested kv(state::kv_verb verb) {
  state::kv_op op;
  op.key = "k";
  op.verb = verb;
  return state::command{state::kv_write{std::move(op)}};
}

exchange exchange_asking(exchange::requested what) {
  exchange e;
  e.what = std::move(what);
  return e;
}

} // namespace

// Two requests of a connection are decided together only if neither can see the other's effect.
TEST_CASE("exchange: plain writes overlap, everything else is decided alone") {
  struct row {
    const char* name;
    exchange::requested what;
    bool may_overlap;
  };
  row rows[] = {
      {"answered at once", std::monostate{}, true},
      {"set", kv(state::kv_verb::set), true},
      {"check and set", kv(state::kv_verb::cas), true},
      {"delete", kv(state::kv_verb::remove), true},
      {"acquire", kv(state::kv_verb::lock), false},
      {"release", kv(state::kv_verb::unlock), false},
      {"transaction", state::command{state::txn{}}, false},
      {"session", state::command{state::session_create{}}, false},
      {"read", http::read_request{}, false},
      {"renewal", http::session_renew{"s"}, false},
      {"status", http::local_request{}, false},
      {"download", http::snapshot_save{}, false},
  };
  for (auto& t : rows) {
    INFO(t.name);
    CHECK(exchange_asking(std::move(t.what)).may_overlap() == t.may_overlap);
  }
  // It may be refused at once, or after a query to the leader, while the next one is carried out.
  auto authorized = exchange_asking(kv(state::kv_verb::set));
  authorized.by = state::auth_context{};
  CHECK_FALSE(authorized.may_overlap());
}

TEST_CASE("exchange: which requests may take minutes") {
  http::read_request at_once, later;
  later.min_index = 5;
  CHECK_FALSE(exchange_asking(at_once).blocking());
  CHECK(exchange_asking(later).blocking());
  CHECK_FALSE(exchange_asking(http::agent_request{agent::list_events{"", 0, 10s}}).blocking());
  CHECK(exchange_asking(http::agent_request{agent::list_events{"", 7, 10s}}).blocking());
  CHECK_FALSE(exchange_asking(http::agent_request{agent::read_service{"web", "", 10s}}).blocking());
  CHECK(exchange_asking(http::agent_request{agent::read_service{"web", "abc", 10s}}).blocking());
  CHECK_FALSE(exchange_asking(kv(state::kv_verb::lock)).blocking());
  auto in_delay = exchange_asking(kv(state::kv_verb::lock));
  in_delay.in_delay = true;
  CHECK(in_delay.blocking());
}

TEST_CASE("exchange: an acquire waits until the delay is over, but not past its client's deadline") {
  const auto began = monotonic_time{} + 1h;
  struct row {
    const char* name;
    std::chrono::milliseconds wanted, gone_by, delay;
    std::optional<std::chrono::nanoseconds> wait;
  };
  const row rows[] = {
      {"the delay ends first", 10s, 0s, 3s, 3s},    {"the client's time ends first", 10s, 8s, 3s, 2s},
      {"a delay that is over", 10s, 1s, 0s, 0s},    {"just in time", 10s, 9999ms, 3s, 1ms},
      {"no time left", 10s, 10s, 3s, std::nullopt}, {"does not want to wait", 0s, 0s, 3s, std::nullopt},
  };
  for (const auto& t : rows) {
    INFO(t.name);
    exchange e;
    e.began = began;
    http::parsed_request parsed;
    parsed.action = http::write_request{std::get<state::command>(kv(state::kv_verb::lock)), t.wanted};
    e.understood(std::move(parsed), {});
    CHECK(e.wait_for_lock(t.delay, began + t.gone_by) == t.wait);
  }
}

TEST_CASE("exchange: the parsed request is taken over") {
  http::parsed_request known;
  known.action = http::error_response(404, "not there");
  known.options.pretty = true;
  known.route = "kv";
  exchange e;
  e.understood(std::move(known), {});
  REQUIRE(e.answer);
  CHECK(e.answer->status == 404);
  CHECK(std::holds_alternative<std::monostate>(e.what));
  CHECK(e.options.pretty);
  CHECK(e.route == "kv");
  CHECK(e.transfer == nullptr);

  http::parsed_request upload;
  upload.action = http::snapshot_restore{};
  exchange u;
  u.understood(std::move(upload), "first bytes");
  CHECK_FALSE(u.answer);
  REQUIRE(u.transfer != nullptr);
  CHECK(u.transfer->body == "first bytes");
}

// A token in the log would be available to all readers of the log.
TEST_CASE("logged_request: no token is shown") {
  const auto shown = [](std::string_view target) { return logged_request({"GET", target, {}, {}, {}}); };
  CHECK(shown("/v1/kv/a?raw") == "GET /v1/kv/a?raw");
  CHECK(shown("/v1/kv/a?token=secret") == "GET /v1/kv/a?token=<hidden>");
  CHECK(shown("/v1/kv/a?token=s1&raw&token=s2") == "GET /v1/kv/a?token=<hidden>&raw&token=<hidden>");
  CHECK(shown("/v1/kv/a?x&token=&y") == "GET /v1/kv/a?x&token=<hidden>&y");
  CHECK(shown("/v1/kv/token=a?mytoken=b") == "GET /v1/kv/token=a?mytoken=b");
  CHECK(shown("/v1/kv/a?raw;token=s1;x&y") == "GET /v1/kv/a?raw;token=<hidden>&y");
  CHECK(shown("/v1/kv/a?%74oken=s1&tok%65n=s2&raw") == "GET /v1/kv/a?%74oken=<hidden>&tok%65n=<hidden>&raw");
  CHECK(shown("/v1/kv/a?%54%4f%4b%45%4e=s1&Token=s2") == "GET /v1/kv/a?%54%4f%4b%45%4e=<hidden>&Token=<hidden>");
  CHECK(shown("/v1/acl/info/s1?raw") == "GET /v1/acl/info/<hidden>?raw");
  CHECK(shown("/v1/acl/destroy/s1/s2") == "GET /v1/acl/destroy/<hidden>");
  CHECK(shown("/v1//acl/./clone/s1?token=s2") == "GET /v1/acl/clone/<hidden>?token=<hidden>");
  CHECK(shown("/v1/%61cl/Inf%6F/s1") == "GET /v1/acl/Info/<hidden>");
  CHECK(shown("/v1/acl/info/s1%7") == "GET /v1/acl/info/<hidden>");
  CHECK(shown("/v1/acl/list") == "GET /v1/acl/list");
  CHECK(shown("/v1/acl/token/self") == "GET /v1/acl/token/self");
  CHECK(shown("/v1/acl/token/s1?x") == "GET /v1/acl/token/<hidden>?x");
  CHECK(shown("/v1/acl/%74oken/s1/clone") == "GET /v1/acl/token/<hidden>/clone");
  CHECK(shown("/v1/acl/rules/translate/s1") == "GET /v1/acl/rules/translate/<hidden>");
  CHECK(shown("/v1/agent/token/default") == "GET /v1/agent/token/default");
  CHECK(shown("/v1/agent/token/acl_agent_token") == "GET /v1/agent/token/acl_agent_token");
  CHECK(shown("/v1/agent/token/s1/s2") == "GET /v1/agent/token/<hidden>");
  CHECK(shown("/v1/kv/a?x=/b?token=s1") == "GET /v1/kv/a?x=/b?token=<hidden>");
  CHECK(shown("/v1/kv/a?token&%74oke=a&tokenn=b&%7=c&=&?") == "GET /v1/kv/a?token&%74oke=a&tokenn=b&%7=c&=&?");
}

// A client that confuses accessor and secret, or names a key by it, mostly does so with its own.
TEST_CASE("logged_request: the token of the request is not shown, wherever it appears") {
  const std::string own = "5f2c4a4e-9d1c-4f0b-8c46-0d4c2f6a7b11", escaped = "%35f2c4a4e-9d1c-4f0b-8c46-0d4c2f6a7b11";
  const auto shown = [&](const std::string& target, bool found = false) {
    return logged_request({"PUT", target, {}, {}, {}}, own, found);
  };
  CHECK(shown("/v1/kv/" + own) == "PUT /v1/kv/<hidden>");
  CHECK(shown("/v1/kv/a/" + escaped + "/b?raw") == "PUT /v1/kv/a/<hidden>/b?raw");
  CHECK(shown("/v1/acl/tokens?policy=" + own + "&x") == "PUT /v1/acl/tokens?policy=<hidden>&x");
  CHECK(shown("/v1/acl/tokens?policy=" + escaped) == "PUT /v1/acl/tokens?policy=<hidden>");
  CHECK(shown("/v1/acl/token/" + own, true) == "PUT /v1/acl/token/<hidden>");
  CHECK(shown("/v1/agent/token/" + own) == "PUT /v1/agent/token/<hidden>");
  // What was found is an accessor; an agent's token is identified only by its kind.
  CHECK(shown("/v1/acl/token/abc/clone", true) == "PUT /v1/acl/token/abc/clone");
  CHECK(shown("/v1/acl/rules/translate/abc", true) == "PUT /v1/acl/rules/translate/abc");
  CHECK(shown("/v1/agent/token/abc", true) == "PUT /v1/agent/token/<hidden>");
  CHECK(logged_request({"GET", "/v1/kv/anonymous", {}, {}, {}}, "anonymous") == "GET /v1/kv/anonymous");
}
