// docs/reference/exactly-once.md: which requests accept a key, what they become, and how outcomes are shown.

#include "tests/unit/protocol/http/requested.hpp"

using namespace belay;
using namespace belay::http;

namespace {

/// Sends a request with the header.
action keyed(std::string_view method, std::string_view target, std::string_view body = {}, std::string_view key = "k-1",
             const route_settings& s = usual_settings()) {
  return ask(method, target, body, {{"Idempotency-Key", key}}, s).action;
}

int status_of_keyed(std::string_view method, std::string_view target, std::string_view body = {},
                    std::string_view key = "k-1") {
  auto s = usual_settings();
  s.acl_enabled = true;
  const auto a = keyed(method, target, body, key, s);
  if (const auto* r = std::get_if<response>(&a)) {
    INFO(r->body);
    CHECK(r->body.find("Idempotency-Key") != std::string::npos);
    return r->status;
  }
  return 0;
}

state::once_request mark_of(const action& a) {
  REQUIRE(std::holds_alternative<write_request>(a));
  const auto& once = std::get<write_request>(a).command.once;
  REQUIRE(once.has_value());
  return *once;
}

} // namespace

TEST_CASE("with a key, requests whose response may be too large to be kept carry the network of their client") {
  auto acls = usual_settings();
  acls.acl_enabled = true;
  struct row {
    const char *target, *body;
    bool carries;
  };
  const row rows[] = {
      {"/v1/txn", R"([{"KV":{"Verb":"set","Key":"a","Value":""}}])", true},
      {"/v1/acl/policy", R"({"Name":"p"})", true},
      {"/v1/acl/role", R"({"Name":"r"})", true},
      {"/v1/acl/token", "{}", true},
      {"/v1/acl/token/5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01/clone", "{}", true},
      {"/v1/kv/a", "v", false},
      {"/v1/session/create", "{}", false},
  };
  for (const auto& r : rows) {
    INFO(r.target);
    const auto address = [&](const action& a) {
      REQUIRE(std::holds_alternative<write_request>(a));
      return std::get<write_request>(a).command.client_address;
    };
    CHECK(address(keyed("PUT", r.target, r.body, "k-1", acls)).has_value() == r.carries);
    CHECK_FALSE(address(ask("PUT", r.target, r.body, {}, acls).action).has_value());
  }
}

TEST_CASE("which requests take an idempotency key: table") {
  struct row {
    const char *method, *target, *body;
    bool taken;
  };
  const row rows[] = {
      {"PUT", "/v1/kv/a", "v", true},
      {"PUT", "/v1/kv/a?cas=0", "v", true},
      {"PUT", "/v1/kv/a?add=1", "", true},
      {"PUT", "/v1/kv/a?release=5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01", "", true},
      {"PUT", "/v1/kv/a?fence=1&claim=c", "v", true},
      {"DELETE", "/v1/kv/a?recurse", "", true},
      {"PUT", "/v1/txn", R"([{"KV":{"Verb":"set","Key":"a","Value":""}}])", true},
      {"PUT", "/v1/session/create", "{}", true},
      {"PUT", "/v1/session/destroy/5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01", "", true},
      {"PUT", "/v1/catalog/register", R"({"Node":"n","Address":"1.2.3.4"})", true},
      {"PUT", "/v1/catalog/deregister", R"({"Node":"n"})", true},
      {"PUT", "/v1/guard/p/?claim=c", "", true},
      {"DELETE", "/v1/guard/p/", "", true},
      {"PUT", "/v1/acl/policy", R"({"Name":"p"})", true},
      {"PUT", "/v1/acl/token", "{}", true},
      {"PUT", "/v1/kv/a?acquire=5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01", "", false},
      {"PUT", "/v1/kv/a?acquire=5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01&queue=3s", "", false},
      {"PUT", "/v1/claim/c?session=5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01", "", false},
      {"DELETE", "/v1/claim/c?id=i", "", false},
      {"PUT", "/v1/claim/c/limit?n=3", "", false},
      {"PUT", "/v1/session/renew/5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01", "", false},
      {"PUT", "/v1/acl/bootstrap", "", false},
      {"PUT", "/v1/outcome/k/cancel", "", false},
      {"DELETE", "/v1/outcome/k", "", false},
      {"PUT", "/v1/agent/check/pass/c", "", false},
      {"PUT", "/v1/agent/reload", "", false},
      {"PUT", "/v1/event/fire/e", "", false},
      {"PUT", "/v1/snapshot", "", false},
  };
  for (const auto& r : rows) {
    INFO(r.method << " " << r.target);
    CHECK(status_of_keyed(r.method, r.target, r.body) == (r.taken ? 0 : 400));
  }
}

TEST_CASE("a key may be quoted, and must be one") {
  struct row {
    std::string header, key; ///< key empty: rejected
  };
  const row rows[] = {
      {"abc", "abc"},
      {"\"abc\"", "abc"},
      {R"("a\"b\\c")", "a\"b\\c"},
      {"\"abc", ""},
      {"\"abc\"d", ""},
      {R"("abc\)", ""},
      {"\"\"", ""},
      {"a b", ""},
      {"a/b", ""},
      {std::string(64, 'x'), std::string(64, 'x')},
      {std::string(65, 'x'), ""},
  };
  for (const auto& r : rows) {
    INFO(r.header);
    if (r.key.empty())
      CHECK(status_of_keyed("PUT", "/v1/kv/a", "v", r.header) == 400);
    else
      CHECK(mark_of(keyed("PUT", "/v1/kv/a", "v", r.header)).key == r.key);
  }
  const auto two = ask("PUT", "/v1/kv/a", "v", {{"Idempotency-Key", "a"}, {"idempotency-key", "a"}}).action;
  CHECK(std::get<response>(two).status == 400);
}

TEST_CASE("reads have no key") {
  CHECK(std::holds_alternative<read_request>(keyed("GET", "/v1/kv/a", "", "a/b")));
  CHECK(std::holds_alternative<read_request>(keyed("PUT", "/v1/txn", R"([{"KV":{"Verb":"get","Key":"a"}}])")));
}

TEST_CASE("which requests count as copies of each other") {
  const auto print = [](std::string_view method, std::string_view target, std::string_view body) {
    return mark_of(keyed(method, target, body)).print;
  };
  const auto one = print("PUT", "/v1/kv/a?flags=1&cas=2", "v");
  CHECK(print("PUT", "/v1/kv/a?cas=2&flags=1", "v") == one);
  CHECK(print("PUT", "/v1/kv/%61?cas=2&flags=1&token=secret", "v") == one);
  CHECK_FALSE(print("PUT", "/v1/kv/a?cas=2&flags=1", "w") == one);
  CHECK_FALSE(print("PUT", "/v1/kv/b?cas=2&flags=1", "v") == one);
  CHECK_FALSE(print("PUT", "/v1/kv/a?cas=3&flags=1", "v") == one);
  CHECK_FALSE(print("DELETE", "/v1/kv/a", "") == print("PUT", "/v1/kv/a", ""));
}

TEST_CASE("counters: parameters") {
  const auto op = written<state::kv_write>("PUT", "/v1/kv/a?add=-3&min=-9&max=100").op;
  CHECK(op.verb == state::kv_verb::add);
  CHECK(op.amount == -3);
  CHECK(op.min == -9);
  CHECK(op.max == 100);
  for (const auto* target : {"/v1/kv/a?add=x", "/v1/kv/a?add=9223372036854775808", "/v1/kv/a?add", "/v1/kv/a?min=1",
                             "/v1/kv/a?add=1&min=2&max=1", "/v1/kv/a?add=1&cas=0", "/v1/kv/a?add=1&flags=1",
                             "/v1/kv/a?add=1&acquire=5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01"}) {
    INFO(target);
    CHECK(refusal_to("PUT", target).status == 400);
  }
  CHECK(refusal_to("PUT", "/v1/kv/a?add=1", "value").status == 400);
  const auto t = written<state::txn>("PUT", "/v1/txn", R"([{"KV":{"Verb":"add","Key":"a","Add":-3,"Max":5}}])");
  CHECK(std::get<state::kv_op>(t.ops.front()).amount == -3);
  CHECK(std::get<state::kv_op>(t.ops.front()).max == 5);
  CHECK(refusal_to("PUT", "/v1/txn", R"([{"KV":{"Verb":"add","Key":"a"}}])").status == 400);
  CHECK(refusal_to("PUT", "/v1/txn", R"([{"KV":{"Verb":"set","Key":"a","Add":1}}])").status == 400);
}

TEST_CASE("outcomes are requested with a consistent read") {
  const auto read = read_requested("GET", "/v1/outcome/k-1?stale");
  CHECK(read.mode == consistency::consistent);
  CHECK(std::get<state::outcome_read>(read.query).key == "k-1");
  CHECK(written<state::outcome_seal>("PUT", "/v1/outcome/k-1/cancel").key == "k-1");
  CHECK(written<state::outcome_seal>("PUT", "/v1/outcome/cancel/cancel").key == "cancel");
  CHECK(refusal_to("PUT", "/v1/outcome/k-1").status == 400);
  CHECK(refusal_to("PUT", "/v1/outcome/cancel").status == 400);
  CHECK(refusal_to("PUT", "/v1/outcome//cancel").status == 301);
  CHECK(refusal_to("GET", "/v1/outcome/").status == 400);
  CHECK(refusal_to("GET", "/v1/outcome/a/b").status == 400);
}

TEST_CASE("answers of exactly once") {
  state::command add = state::kv_write{};
  const state::reply sum{state::kv_added{-7}};
  CHECK(render_write(add, sum, {}, log_index{12}).body == R"({"Value":-7,"Index":12})");
  auto again = sum;
  again.decided_at = log_index{5};
  const auto replayed = render_write(add, again, {}, log_index{12});
  CHECK(replayed.body == R"({"Value":-7,"Index":5})");
  CHECK(header(replayed, "X-Belay-Replayed") == "true");
  CHECK(header(replayed, "X-Belay-Index") == "5");
  struct row {
    state::once_error why;
    int status;
  };
  for (const auto& r : {row{state::once_error::too_old, 408}, row{state::once_error::sealed, 410},
                        row{state::once_error::answer_size, 413}, row{state::once_error::other_request, 422},
                        row{state::once_error::full, 429}}) {
    const auto no = render_write(add, state::reply{state::once_refusal{r.why, {}}}, {}, log_index{12});
    CHECK(no.status == r.status);
    CHECK(header(no, "X-Belay-Reason") == (r.status == 410 ? "cancelled" : name_of(r.why)));
    CHECK(header(no, "X-Belay-Index") == "(none)");
  }
  const state::command seal = state::outcome_seal{"k", {}};
  state::reply nothing;
  nothing.decided_at = log_index{9};
  CHECK(render_write(seal, nothing, {}, log_index{12}).body == R"({"State":"cancelled","Index":9})");
  CHECK(render_write(seal, again, {}, log_index{12}).body ==
        R"({"State":"done","Index":5,"Status":200,"Body":"{\"Value\":-7,\"Index\":5}"})");
  state::reply no(false);
  no.note.why = state::refused_for::index;
  no.decided_at = log_index{5};
  CHECK(render_write(seal, no, {}, log_index{12}).body ==
        R"({"State":"done","Index":5,"Status":200,"Body":"false","Reason":"index"})");
  CHECK(render_write(seal, state::reply{state::once_refusal{state::once_error::full, {}}}, {}, {}).status == 429);
}
