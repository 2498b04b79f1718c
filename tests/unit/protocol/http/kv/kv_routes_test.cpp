// Requests for keys (docs/contract/03).

#include "tests/unit/protocol/http/requested.hpp"

using namespace belay;
using namespace belay::http;
using state::kv_verb;

TEST_CASE("GET: keys beats recurse beats a single key; raw only with a single key") {
  CHECK(std::get<state::kv_get>(read_requested("GET", "/v1/kv/a/b").query).key == "a/b");
  CHECK(std::get<state::kv_list>(read_requested("GET", "/v1/kv/a?recurse=false&raw").query).prefix == "a");
  CHECK(std::get<state::kv_keys>(read_requested("GET", "/v1/kv/a?recurse&keys=0").query).prefix == "a");
  CHECK(std::get<state::kv_list>(read_requested("GET", "/v1/kv/?recurse").query).prefix.empty());
  CHECK(ask("GET", "/v1/kv/a?raw=no").options.raw);
  CHECK_FALSE(ask("GET", "/v1/kv/a?raw&recurse").options.raw);
  CHECK_FALSE(ask("GET", "/v1/kv/a?raw&keys").options.raw);
}

TEST_CASE("the separator has two spellings, and the first of a kind counts") {
  const auto separator = [](const char* target) {
    return std::get<state::kv_keys>(read_requested("GET", target).query).separator;
  };
  CHECK(separator("/v1/kv/a?keys") == "");
  CHECK(separator("/v1/kv/a?keys&separator=/") == "/");
  CHECK(separator("/v1/kv/a?keys&seperator=.") == ".");
  CHECK(separator("/v1/kv/a?keys&seperator=.&separator=::") == "::");
  CHECK(separator("/v1/kv/a?keys&separator=a&separator=/") == "a");
  CHECK(separator("/v1/kv/a?keys&separator=%2B+") == "+ ");
}

TEST_CASE("keys are decoded from the path") {
  struct row {
    const char *target, *key;
  };
  for (const auto& t :
       {row{"/v1/kv/a%2Fb", "a/b"}, row{"/v1/kv/a+b", "a+b"}, row{"/v1/kv/a%20b", "a b"}, row{"/v1/kv/why%3F", "why?"},
        row{"/v1/kv/no%231", "no#1"}, row{"/v1/kv/100%25", "100%"},
        row{"/v1/kv/a:b;c,d=e@f!g$h'(i)*~", "a:b;c,d=e@f!g$h'(i)*~"}, row{"/v1/kv/a/", "a/"},
        row{"/v1/kv/%C5%BC", "\xC5\xBC"}, row{"/v1/kv/a.b/..c", "a.b/..c"}, row{"/v1/kv/%22q%22%5C", "\"q\"\\"}})
    CHECK(std::get<state::kv_get>(read_requested("GET", t.target).query).key == t.key);
}

TEST_CASE("an acquire may name its wait for the end of a lock delay") {
  const auto wait_of = [](std::string_view target) {
    return std::get<write_request>(ask("PUT", target).action).lock_wait;
  };
  CHECK(wait_of("/v1/kv/k?acquire=S&queue=1500ms") == std::chrono::milliseconds(1500));
  CHECK(wait_of("/v1/kv/k?acquire=S").count() == 0);
  CHECK(wait_of("/v1/kv/k?acquire=S&queue=9h") == usual_settings().max_query_time);
  // Go's client sends `wait` with every request if it is set; Consul ignores it on writes.
  for (const auto* write : {"acquire=S", "release=S", "cas=0", "flags=1"}) {
    const auto requested = std::string("/v1/kv/k?wait=10s&") + write;
    CAPTURE(requested);
    CHECK(wait_of(requested).count() == 0);
    CHECK(std::holds_alternative<state::kv_write>(std::get<write_request>(ask("PUT", requested).action).command));
  }
}

TEST_CASE("PUT becomes set, cas, lock or unlock with value and flags") {
  auto op = written<state::kv_write>("PUT", "/v1/kv/k", std::string_view("a\0b", 3)).op;
  CHECK(op.verb == kv_verb::set);
  CHECK(op.key == "k");
  CHECK(*op.value == std::string("a\0b", 3));
  CHECK(op.flags == 0);
  CHECK(*written<state::kv_write>("PUT", "/v1/kv/k").op.value == "");
  op = written<state::kv_write>("PUT", "/v1/kv/k?cas=7&flags=18446744073709551615", "v").op;
  CHECK(op.verb == kv_verb::cas);
  CHECK(op.index == log_index{7});
  CHECK(op.flags == ~std::uint64_t{0});
  op = written<state::kv_write>("PUT", "/v1/kv/k?acquire=S&flags=1&flags=2", "v").op;
  CHECK(op.verb == kv_verb::lock);
  CHECK(op.session == "S");
  CHECK(op.flags == 1);
  op = written<state::kv_write>("PUT", "/v1/kv/k?release=S", "v").op;
  CHECK(op.verb == kv_verb::unlock);
  CHECK(op.session == "S");
  CHECK(written<state::kv_write>("PUT", "/v1/kv/k?foo=bar&&=&x&CAS=0", "v").op.verb == kv_verb::set);
}

TEST_CASE("DELETE becomes the removal of a key, of a tree, or of an unchanged key") {
  CHECK(written<state::kv_write>("DELETE", "/v1/kv/k?keys&acquire=x").op.verb == kv_verb::remove);
  CHECK(written<state::kv_write>("DELETE", "/v1/kv/?recurse=0").op.verb == kv_verb::remove_tree);
  const auto op = written<state::kv_write>("DELETE", "/v1/kv/k?cas=0").op;
  CHECK(op.verb == kv_verb::remove_cas);
  CHECK(op.index == log_index{0});
}

TEST_CASE("mistakes in requests for keys") {
  struct row {
    const char *method, *target;
    int status;
    const char* text;
  };
  for (const auto& t :
       {row{"GET", "/v1/kv/", 400, "Missing key name"}, row{"GET", "/v1/kv/?ns=x", 400, "Missing key name"},
        row{"GET", "/v1/kv/?raw", 400, "Missing key name"}, row{"PUT", "/v1/kv/", 400, "Missing key name"},
        row{"PUT", "/v1/kv/?cas=x", 400, "Missing key name"}, row{"DELETE", "/v1/kv/", 400, "Missing key name"},
        row{"PUT", "/v1/kv/a?cas=0&acquire=x", 400, "Conflicting flags: acquire=x&cas=0"},
        row{"PUT", "/v1/kv/a?release=x&acquire=x", 400, "Conflicting flags: acquire=x&release=x"},
        row{"PUT", "/v1/kv/a?release=x%20%2F&cas=1&z&b=%C3%A9", 400,
            "Conflicting flags: b=%C3%A9&cas=1&release=x+%2F&z="},
        row{"DELETE", "/v1/kv/a?recurse&cas=x", 400, "Conflicting flags: cas=x&recurse="},
        row{"PUT", "/v1/kv/f?flags=abc", 500, "strconv.ParseUint: parsing \"abc\": invalid syntax"},
        row{"PUT", "/v1/kv/f?flags=-1", 500, "strconv.ParseUint: parsing \"-1\": invalid syntax"},
        row{"PUT", "/v1/kv/f?flags=18446744073709551616", 500,
            "strconv.ParseUint: parsing \"18446744073709551616\": value out of range"},
        row{"PUT", "/v1/kv/f?flags=99999999999999999999x", 500,
            "strconv.ParseUint: parsing \"99999999999999999999x\": value out of range"},
        row{"PUT", "/v1/kv/f?flags=", 500, "strconv.ParseUint: parsing \"\": invalid syntax"},
        row{"PUT", "/v1/kv/f?flags=0x10", 500, "strconv.ParseUint: parsing \"0x10\": invalid syntax"},
        row{"PUT", "/v1/kv/f?cas", 500, "strconv.ParseUint: parsing \"\": invalid syntax"},
        row{"PUT", "/v1/kv/f?cas=%22%0A%FF", 500, "strconv.ParseUint: parsing \"\\\"\\n\\xff\": invalid syntax"},
        row{"DELETE", "/v1/kv/f?cas=x", 500, "strconv.ParseUint: parsing \"x\": invalid syntax"}}) {
    const auto r = refusal_to(t.method, t.target, "1");
    CHECK(r.status == t.status);
    CHECK(r.body == t.text);
    CHECK(r.content_type == "text/plain; charset=utf-8");
    CHECK(header(r, "X-Consul-Index") == "(none)");
  }
}

// A body that is too large is not read. What Consul finds before the length has precedence.
TEST_CASE("a body that is too large is rejected after errors in the head") {
  const auto answer = [](std::string_view method, std::string_view target, std::uint64_t bytes = 600'000) {
    const auto r = refuse_large_body({method, target, {}, {}, "127.0.0.1", request_time_ns}, bytes, usual_settings());
    CHECK(r.close);
    return r;
  };
  CHECK(answer("PUT", "/v1/kv/a").body.starts_with("Request body(600000 bytes) too large, max size: 524288 bytes."));
  CHECK(answer("PUT", "/v1/kv/a", 0).body.starts_with("Request body too large"));
  CHECK(answer("PUT", "/v1/kv/a?dc=nowhere").status == 413);
  CHECK(answer("PUT", "/v1/kv/a?acquire=x").status == 413);
  CHECK(answer("PUT", "/v1/kv/a?index=abc").body == "Invalid index");
  CHECK(answer("PUT", "/v1/kv/a?cas=abc").status == 500);
  CHECK(answer("PUT", "/v1/kv/a?cas=1&acquire=x").body.starts_with("Conflicting flags"));
  CHECK(answer("PUT", "/v1/kv/").body == "Missing key name");
  CHECK(answer("PATCH", "/v1/kv/a").status == 405);
  CHECK(answer("GET", "/v1/kv/a").status == 413);
  CHECK(answer("PATCH", "/v1/txn").status == 405);
  CHECK(answer("PUT", "/v1/txn?bad=%zz").status == 500);
  CHECK(answer("PUT", "/v1/txn?dc=nowhere").status == 413);
  CHECK(answer("GET", "/v1/session/create").status == 405);
  CHECK(answer("PUT", "/v1/session/create").status == 413);
  CHECK(answer("PUT", "/v1/event/fire/e").status == 413);
  CHECK(answer("PUT", "/v1/nothing").status == 404);
}

TEST_CASE("values up to the limit are accepted, one byte more is not; the limit is known before the body is") {
  auto s = usual_settings();
  s.kv_max_value_size = 10;
  s.txn_max_req_len = 20;
  CHECK(std::holds_alternative<write_request>(ask("PUT", "/v1/kv/a", "0123456789", {}, s).action));
  const auto r = refusal_to("PUT", "/v1/kv/a", "0123456789x", {}, s);
  CHECK(r.status == 413);
  CHECK(r.close);
  CHECK(r.body == "Request body(11 bytes) too large, max size: 10 bytes. See "
                  "https://www.consul.io/docs/agent/options.html#kv_max_value_size.");
  CHECK(body_limit_of("PUT", "/v1/kv/a?flags=1", s).bytes_max == 10);
  CHECK(body_limit_of("PUT", "/v1%2Fkv/a", s).bytes_max == 10);
  CHECK(body_limit_of("PUT", "/v1/txn", s).bytes_max == 20);
  CHECK(body_limit_of("PUT", "http://x/v1/txn", s).bytes_max == 20); // the absolute form
  CHECK(body_limit_of("PUT", "/v1/session/create", s).bytes_max > 100'000);
  CHECK(body_too_large("/v1/txn?x", 0, s).body == "Request body too large, max size: 20 bytes. See "
                                                  "https://www.consul.io/docs/agent/options.html#txn_max_req_len.");
  s.kv_max_value_size = 30;
  CHECK(body_limit_of("PUT", "/v1/txn", s).bytes_max == 30);
}
