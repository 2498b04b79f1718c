// Requests about sessions (docs/contract/04, section 2).

#include "tests/unit/protocol/http/requested.hpp"

using namespace belay;
using namespace belay::http;

namespace {

constexpr auto create = "/v1/session/create";
constexpr std::int64_t second = 1'000'000'000;
const std::string uuid_error = "failed session lookup: index error: UUID must be 36 characters";
using names = std::optional<std::vector<std::string>>;

state::session_record created(std::string_view body) {
  return written<state::session_create>("PUT", create, body).session;
}

} // namespace

TEST_CASE("no body, {} and null make the same session") {
  for (const auto body :
       {"", "{}", "null", "{} trailing", R"({"ID":"11111111-2222-3333-4444-555555555555","Unknown":1})"}) {
    const auto s = created(body);
    INFO(body);
    CHECK(s.id == fresh_uuid);
    CHECK(s.name == "");
    CHECK(s.node == "n1");
    CHECK(s.lock_delay_ns == 15 * second);
    CHECK(s.behavior == state::session_behavior::release);
    CHECK(s.ttl == "");
    CHECK(s.ttl_ns == 0);
    CHECK(s.node_checks == names({"serfHealth"}));
    CHECK(s.service_checks == names());
    CHECK(s.checks == names());
  }
}

TEST_CASE("members are matched without regard to case and kept as written") {
  const auto s = created(R"({"BEHAVIOR":"delete","lockdelay":"3s","name":"<n>","ttl":"20.5s","node":"N2"})");
  CHECK(s.behavior == state::session_behavior::remove);
  CHECK(s.lock_delay_ns == 3 * second);
  CHECK(s.name == "<n>");
  CHECK(s.node == "N2");
  CHECK(s.ttl == "20.5s");
  CHECK(s.ttl_ns == 20'500'000'000);
  CHECK(created(R"({"Behavior":""})").behavior == state::session_behavior::release);
}

TEST_CASE("LockDelay: a text, nanoseconds, or seconds when it is small") {
  struct row {
    const char* json;
    std::int64_t ns;
  };
  for (const auto& t :
       {row{"\"1m30s\"", 90 * second}, row{"5", 5 * second}, row{"999", 999 * second}, row{"1000", 1000},
        row{"20000000000", 20 * second}, row{"\"0s\"", 0}, row{"0", 0}, row{"\"0\"", 0}, row{"\"250ms\"", 250'000'000},
        row{"1.5", second}, row{"\"500ns\"", 500 * second}, row{"null", 15 * second}, row{"true", 0},
        row{"\"120s\"", 120 * second}, row{"1e10", 10 * second}}) {
    INFO(t.json);
    CHECK(created(std::string("{\"LockDelay\":") + t.json + "}").lock_delay_ns == t.ns);
  }
  // In any notation, a negative delay stays negative: it must not wrap around.
  for (const auto negative : {"-1", "\"-10s\"", "-9223372036854775808", "\"-2562047h\""})
    CHECK(created(std::string("{\"LockDelay\":") + negative + "}").lock_delay_ns < 0);
}

TEST_CASE("the two lists of checks affect each other") {
  struct row {
    const char* body;
    names checks, node_checks, service_checks;
  };
  for (const auto& t : std::vector<row>{
           {R"({"Checks":["serfHealth"]})", {}, {{"serfHealth"}}, {}},
           {R"({"Checks":[]})", {}, {{}}, {}},
           {R"({"Checks":[],"NodeChecks":["a"]})", {}, {{}}, {}},
           {R"({"Checks":["nope"]})", {{"nope"}}, {{"serfHealth"}}, {}},
           {R"({"NodeChecks":[]})", {}, {{}}, {}},
           {R"({"NodeChecks":null})", {}, {}, {}},
           {R"({"Checks":null,"NodeChecks":null})", {}, {{}}, {}},
           {R"({"Checks":["a"],"NodeChecks":[]})", {}, {{}}, {}},
           {R"({"NodeChecks":["a","b"]})", {}, {{"a", "b"}}, {}},
           {R"({"NodeChecks":[],"ServiceChecks":[{"ID":"db","Namespace":"x"},{"id":"y"}]})", {}, {{}}, {{"db", "y"}}},
           {R"({"ServiceChecks":[]})", {}, {{"serfHealth"}}, {{}}}}) {
    const auto s = created(t.body);
    INFO(t.body);
    CHECK(s.checks == t.checks);
    CHECK(s.node_checks == t.node_checks);
    CHECK(s.service_checks == t.service_checks);
  }
}

TEST_CASE("sessions that are not created") {
  struct row {
    const char* body;
    int status;
    const char* text;
  };
  for (const auto& t :
       {row{R"({"Node":""})", 500, "Must provide Node"},
        row{R"({"Behavior":"explode"})", 500, "Invalid Behavior setting 'explode'"},
        row{R"({"Behavior":"Release"})", 500, "Invalid Behavior setting 'Release'"},
        row{R"({"TTL":"9s"})", 500, "Invalid Session TTL '9000000000', must be between [10s=24h0m0s]"},
        row{R"({"TTL":"24h0m1s"})", 500, "Invalid Session TTL '86401000000000', must be between [10s=24h0m0s]"},
        row{R"({"TTL":"-10s"})", 500, "Invalid Session TTL '-10000000000', must be between [10s=24h0m0s]"},
        row{R"({"TTL":"abc"})", 500, "Session TTL 'abc' invalid: time: invalid duration \"abc\""},
        row{R"({"TTL":"15"})", 500, "Session TTL '15' invalid: time: missing unit in duration \"15\""},
        row{R"({"TTL":15})", 400,
            "Request decode failed: json: cannot unmarshal number into Go struct field .TTL of type string"},
        row{R"({"LockDelay":"abc"})", 400, "Request decode failed: time: invalid duration \"abc\""},
        row{R"({"LockDelay":"15"})", 400, "Request decode failed: time: missing unit in duration \"15\""},
        row{R"({"Name":)", 400, "Request decode failed: unexpected EOF"},
        row{R"({b)", 400, "Request decode failed: invalid character 'b' in JSON at byte 2"},
        row{"[]", 400, "Request decode failed: json: cannot unmarshal array into Go value of type structs.Session"},
        row{"\"x\"", 400, "Request decode failed: json: cannot unmarshal string into Go value of type structs.Session"},
        row{R"({"NodeChecks":"serfHealth"})", 400,
            "Request decode failed: json: cannot unmarshal string into Go struct field .NodeChecks of type "
            "[]string"}}) {
    const auto r = refusal_to("PUT", create, t.body);
    CHECK(r.status == t.status);
    CHECK(r.body == t.text);
  }
  auto s = usual_settings();
  s.session_ttl_min = std::chrono::milliseconds(200);
  CHECK(refusal_to("PUT", create, R"({"TTL":"100ms"})", {}, s).body ==
        "Invalid Session TTL '100000000', must be between [200ms=24h0m0s]");
  CHECK(std::holds_alternative<write_request>(ask("PUT", create, R"({"TTL":"200ms"})", {}, s).action));
  CHECK(created(R"({"TTL":"0s"})").ttl == "0s");
  CHECK(created(R"({"TTL":"24h"})").ttl_ns == 86400 * second);
}

TEST_CASE("a session is named in the path") {
  const std::string id = "5F1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01";
  CHECK(written<state::session_destroy>("PUT", "/v1/session/destroy/" + id).ids == std::vector<std::string>{id});
  CHECK(std::get<session_renew>(ask("PUT", "/v1/session/renew/" + id, "ignored").action).id == id);
  CHECK(std::get<state::session_info>(read_requested("GET", "/v1/session/info/" + id).query).id == id);
  CHECK(std::get<state::session_node>(read_requested("GET", "/v1/session/node/N2?index=4").query).node == "N2");
  CHECK(std::holds_alternative<state::session_list>(read_requested("GET", "/v1/session/list").query));
  for (const auto path : {"/v1/session/destroy/", "/v1/session/renew/"}) {
    CHECK(refusal_to("PUT", path).body == "Missing session");
    CHECK(refusal_to("PUT", path).status == 400);
    const auto bad = refusal_to("PUT", std::string(path) + "abc");
    CHECK(bad.status == 500);
    CHECK(bad.body == uuid_error);
    CHECK(header(bad, "X-Consul-Index") == "(none)");
  }
  CHECK(refusal_to("GET", "/v1/session/info/").body == "Missing session");
  CHECK(refusal_to("GET", "/v1/session/node/").body == "Missing node name");
  const auto bad = refusal_to("GET", "/v1/session/info/abc");
  CHECK(bad.body == uuid_error);
  CHECK(header(bad, "X-Consul-Index") == "1");
}

// Go's client sends its QueryOptions with a renewal; Consul reads them.
TEST_CASE("a renewal parses the parameters of a read, and their errors take precedence over the namespace") {
  const std::string renew = "/v1/session/renew/5F1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01";
  for (const auto& [query, text] :
       {std::pair{"?index=abc", "Invalid index"},
        {"?wait=abc", "Invalid wait time"},
        {"?stale&consistent", "Cannot specify ?stale with ?consistent, conflicting semantics."}}) {
    CHECK(refusal_to("PUT", renew + query).status == 400);
    CHECK(refusal_to("PUT", renew + query + "&ns=x").body == text);
    CHECK(refusal_to("GET", std::string("/v1/session/list") + query + "&ns=x").body == text);
  }
  CHECK(std::holds_alternative<session_renew>(ask("PUT", renew + "?wait=5s&index=7&stale").action));
}

TEST_CASE("members of a session that clients cannot set must have the right type") {
  for (const auto* member :
       {"\"CreateIndex\":\"x\"", "\"ModifyIndex\":-1", "\"ID\":1", "\"ServiceChecks\":[{\"Namespace\":1}]"})
    CHECK(refusal_to("PUT", "/v1/session/create", std::string("{") + member + "}").status == 400);
  CHECK(created(R"({"CreateIndex":7,"ModifyIndex":8,"ID":"x","ServiceChecks":[]})").id == fresh_uuid);
}

// A "true" in response to such a destroy would mean that a session which never existed has ended.
TEST_CASE("texts of 36 characters that cannot be an ID are rejected as by Consul's tables") {
  const std::string begins = "failed session lookup: index error: ";
  for (const auto& [id, complaint] : {
           std::pair{"zzzzzzzz-1111-2222-3333-444444444444", "Invalid UUID: encoding/hex: invalid byte: U+007A 'z'"},
           {"00000000-1111-2222-3333-44444444444_", "Invalid UUID: encoding/hex: invalid byte: U+005F '_'"},
           {"000000001-111-2222-3333-4444-4444444", "UUID should have maximum of 4 \"-\"; got 5"},
           {"000000001111122222333334444-44444444", "Input (without hyphens) must be even length"},
       })
    for (const auto* way : {"destroy", "renew", "info"}) {
      const auto r =
          refusal_to(std::string_view(way) == "info" ? "GET" : "PUT", "/v1/session/" + std::string(way) + "/" + id);
      CHECK(r.status == 500);
      CHECK(r.body == begins + complaint);
    }
  CHECK(refusal_to("PUT", "/v1/session/destroy/%80" + std::string(35, '0')).body ==
        begins + "Invalid UUID: encoding/hex: invalid byte: U+0080");
  const auto odd = ask("PUT", "/v1/session/destroy/" + std::string(36, 'a'));
  CHECK(std::holds_alternative<write_request>(odd.action));
}
