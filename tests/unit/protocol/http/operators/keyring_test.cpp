// /v1/operator/keyring: its requests, rejections, and the combined responses of all members. The
// texts were recorded from Consul 1.8.7 with three servers.

#include "protocol/http/operators/keyring_report.hpp"
#include "tests/unit/protocol/http/requested.hpp"

using namespace belay;
using namespace belay::http;
using forward::keyring_verb;

namespace {

constexpr auto keyring_path = "/v1/operator/keyring";
const std::string one = "EVw0KitCchISt1h9L06mUNtDbKucvILRi4lPEAGl5Zs=";
const std::string two = "rnLX6VWbVvLE7DqKDhpQFi2CjAXyhwAE7zG+DdxIuLg=";

local_request requested(std::string_view method, std::string_view query, std::string_view body = {}) {
  auto p = ask(method, std::string(keyring_path) + std::string(query), body);
  REQUIRE(std::holds_alternative<local_request>(p.action));
  auto r = std::get<local_request>(p.action);
  CHECK(r.kind == local_kind::keyring);
  return r;
}

forward::keyring_outcome outcome(std::vector<forward::keyring_of_member> members, bool local_only = false) {
  return {request_id{1}, {}, local_only, std::move(members)};
}

forward::keyring_of_member with_keys(std::string name, std::vector<std::string> keys) {
  return {std::move(name), true, {true, {}, std::move(keys), false}};
}

forward::keyring_of_member refusing(std::string name, std::string why) {
  return {std::move(name), true, {false, std::move(why), {}, false}};
}

forward::keyring_of_member silent(std::string name, std::string why) {
  return {std::move(name), false, {false, std::move(why), {}, false}};
}

} // namespace

TEST_CASE("keyring: the method is the operation, the body has the key", "[keyring]") {
  const auto body = R"({"Key":")" + one + "\"}";
  CHECK(requested("GET", "").keys.verb == keyring_verb::list);
  for (const auto& [method, verb] :
       {std::pair{"POST", keyring_verb::install}, {"PUT", keyring_verb::use}, {"DELETE", keyring_verb::remove}}) {
    const auto r = requested(method, "", body);
    CHECK(r.keys.verb == verb);
    CHECK(r.keys.key == one);
  }
  CHECK(requested("POST", "", R"({"key":")" + one + R"(","Token":"t","RelayFactor":3,"LocalOnly":false} and more)")
            .keys.key == one);
  // Wrong length: members reject it, as they do for `{}` and `null`.
  for (const auto* wrong : {R"({"Key":"YWJjZA=="})", "{}", "null"})
    CHECK(requested("POST", "", wrong).keys.key.empty());
  // Line breaks are skipped.
  CHECK(requested("POST", "", R"({"Key":")" + one.substr(0, 20) + "\\n" + one.substr(20) + "\"}").keys.key == one);
  CHECK(requested("GET", "?dc=elsewhere").keys.verb == keyring_verb::list);
}

TEST_CASE("keyring: parameters are checked as in Consul", "[keyring]") {
  CHECK(requested("GET", "?local-only=true").local_only);
  CHECK_FALSE(requested("GET", "?local-only=0").local_only);
  CHECK_FALSE(requested("POST", "?local-only=false", "{}").local_only);
  for (const auto* good : {"?relay-factor=0", "?relay-factor=5", "?relay-factor=%2B3", "?relay-factor="})
    CHECK(requested("GET", good).keys.verb == keyring_verb::list);
  struct row {
    const char* method;
    const char* query;
    const char* body;
    int status;
    std::string text;
  };
  const std::string pools = "\n\t* WAN error: illegal base64 data at input byte 0"
                            "\n\t* dc1 (LAN) error: illegal base64 data at input byte 0\n\n";
  for (const auto& r : {
           row{"GET", "?local-only=zz", "", 400,
               R"(Bad request: Error parsing local-only: strconv.ParseBool: parsing "zz": invalid syntax)"},
           row{"POST", "?local-only=true", "{}", 400,
               "Bad request: Invalid use of local-only: local-only can only be set for list requests"},
           row{"POST", "", R"({"LocalOnly":true})", 500,
               "argument error: LocalOnly can only be used for List operations"},
           row{"GET", "?relay-factor=6", "", 400,
               "Bad request: Invalid relay-factor: Relay factor must be in range: [0, 5]"},
           row{"GET", "?relay-factor=-1", "", 400,
               "Bad request: Invalid relay-factor: Relay factor must be in range: [0, 5]"},
           row{"GET", "?relay-factor=x", "", 400,
               R"(Bad request: Error parsing relay factor: strconv.Atoi: parsing "x": invalid syntax)"},
           row{"GET", "?relay-factor=99999999999999999999", "", 400,
               "Bad request: Error parsing relay factor: strconv.Atoi: parsing \"99999999999999999999\": value out of "
               "range"},
           row{"POST", "", "", 400, "Bad request: Request decode failed: EOF"},
           row{"PUT", "", "xx", 400,
               "Bad request: Request decode failed: invalid character 'x' looking for beginning of value"},
           row{"DELETE", "", "[]", 400,
               "Bad request: Request decode failed: json: cannot unmarshal array into Go value of type "
               "agent.keyringArgs"},
           row{"POST", "", R"({"Key":5})", 400,
               "Bad request: Request decode failed: json: cannot unmarshal number into Go struct field keyringArgs.Key "
               "of type string"},
           row{"POST", "", R"({"Foo":1})", 400, R"(Bad request: Request decode failed: json: unknown field "Foo")"},
           row{"POST", "", R"({"Key":"!!!!"})", 500, "2 errors occurred:" + pools},
           row{"DELETE", "", R"({"Key":"!!"})", 500, "2 errors occurred:" + pools},
       }) {
    CAPTURE(r.method, r.query, r.body);
    const auto refused = refusal_to(r.method, std::string(keyring_path) + r.query, r.body);
    CHECK(refused.status == r.status);
    CHECK(refused.body == r.text);
  }
  const auto patch = refusal_to("PATCH", keyring_path);
  CHECK(patch.status == 405);
  CHECK(header(patch, "Allow") == "OPTIONS,GET,POST,PUT,DELETE");
  CHECK(refusal_to("POST", "/v1/operator/autopilot/health").status == 405);
}

TEST_CASE("keyring: a list counts which server has which key", "[keyring]") {
  const auto o = outcome({with_keys("s1", {one}), with_keys("s2", {two, one}), with_keys("s3", {one, two})});
  CHECK(keyring_complaint(o, "dc1").empty());
  const std::string rest = R"("Datacenter":"dc1","Segment":"","Keys":{")" + one + R"(":3,")" + two +
                           R"(":2},"PrimaryKeys":{")" + one + R"(":2,")" + two + R"(":1},"NumNodes":3})";
  CHECK(render_keyring(o, "dc1") == R"([{"WAN":true,)" + rest + R"(,{"WAN":false,)" + rest + "]");
  const auto local = outcome({with_keys("s1", {one})}, true);
  CHECK(render_keyring(local, "dc1") == R"([{"WAN":false,"Datacenter":"dc1","Segment":"","Keys":{")" + one +
                                            R"(":1},"PrimaryKeys":{")" + one + R"(":1},"NumNodes":1}])");
  // A member may use any text as a key; the response must stay JSON.
  CHECK(render_keyring(outcome({with_keys("s1", {"a\"b"})}, true), "dc1").find(R"("a\"b":1)") != std::string::npos);
}

TEST_CASE("keyring: servers that failed are named, in both pools", "[keyring]") {
  const std::string no = "Removing the primary key is not allowed";
  CHECK(keyring_complaint(outcome({refusing("s1", no), refusing("s2", no), refusing("s3", no)}), "dc1") ==
        "8 errors occurred:\n\t* WAN error: 3/3 nodes reported failure\n\t* s1.dc1: " + no + "\n\t* s2.dc1: " + no +
            "\n\t* s3.dc1: " + no + "\n\t* dc1 (LAN) error: 3/3 nodes reported failure\n\t* s1: " + no +
            "\n\t* s2: " + no + "\n\t* s3: " + no + "\n\n");
  const std::string empty = "Keyring is empty (encryption not enabled)";
  CHECK(keyring_complaint(outcome({refusing("s4", empty)}, true), "dc1") ==
        "2 errors occurred:\n\t* dc1 (LAN) error: 1/1 nodes reported failure\n\t* s4: " + empty + "\n\n");
  CHECK(keyring_complaint(outcome({with_keys("s1", {}), silent("s2", "not connected"), with_keys("s3", {})}, true),
                          "dc1") ==
        "2 errors occurred:\n\t* dc1 (LAN) error: 2/3 nodes reported success\n\t* s2: not connected\n\n");
  CHECK(keyring_complaint(outcome({with_keys("s1", {}), silent("s2", "not connected"), refusing("s3", "no")}, true),
                          "dc1")
            .starts_with("3 errors occurred:\n\t* dc1 (LAN) error: 1/3 nodes reported failure\n"));
}

// `ports.serf_wan` -1: Consul names only the datacenter's pool, for each of the methods.
TEST_CASE("keyring: without a WAN pool none is mentioned", "[keyring]") {
  auto s = usual_settings();
  s.has_wan_pool = false;
  for (const auto* method : {"GET", "POST", "PUT", "DELETE"}) {
    const auto p = ask(method, keyring_path, R"({"Key":")" + one + "\"}", {}, s);
    CHECK(std::get<local_request>(p.action).local_only);
  }
  CHECK(refusal_to("PUT", keyring_path, R"({"Key":"!"})", {}, s).body ==
        "1 error occurred:\n\t* dc1 (LAN) error: illegal base64 data at input byte 0\n\n");
}
