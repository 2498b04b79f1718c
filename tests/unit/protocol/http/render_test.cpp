// Complete responses as texts, as the contract shows them.

#include "protocol/go_compat/json_output.hpp"
#include "tests/unit/protocol/http/requested.hpp"

using namespace belay;
using namespace belay::http;

namespace {

const std::string session_id = "5f1a1a6e-0c8e-4d8f-9a55-2f6d3f1f1a01";

state::kv_entry_ptr entry(std::string key, std::string value, std::string session = {}) {
  state::kv_draft e;
  e.key = std::move(key);
  e.value = make_payload(std::move(value));
  e.session = std::move(session);
  e.create_index = log_index{13};
  e.modify_index = log_index{14};
  return e;
}

template <class Data>
response rendered(const char* target, Data data, read_meta meta = {}) {
  auto p = ask("GET", target);
  REQUIRE(std::holds_alternative<read_request>(p.action));
  return render_read(std::get<read_request>(p.action), {log_index{42}, std::move(data)}, meta, p.options);
}

std::shared_ptr<state::node_record> node() {
  auto n = std::make_shared<state::node_record>();
  n->node = "y";
  n->address = "10.0.0.2";
  n->datacenter = "dc1";
  n->create_index = log_index{5};
  n->modify_index = log_index{7};
  return n;
}

std::shared_ptr<state::service_record> service() {
  auto s = std::make_shared<state::service_record>();
  s->node = "y";
  s->id = "db1";
  s->service = "db";
  s->port = 5432;
  s->create_index = s->modify_index = log_index{73};
  return s;
}

std::shared_ptr<state::check_record> check() {
  auto c = std::make_shared<state::check_record>();
  c->node = "y";
  c->check_id = "c1";
  c->name = "chk";
  c->status = "passing";
  c->create_index = c->modify_index = log_index{9};
  return c;
}

const std::string node_text = R"({"ID":"","Node":"y","Address":"10.0.0.2","Datacenter":"dc1","TaggedAddresses":null,)"
                              R"("Meta":null,"CreateIndex":5,"ModifyIndex":7})";
const std::string service_text =
    R"({"ID":"db1","Service":"db","Tags":[],"Address":"","Meta":null,"Port":5432,"Weights":{"Passing":1,"Warning":1},)"
    R"("EnableTagOverride":false,"Proxy":{"MeshGateway":{},"Expose":{}},"Connect":{},"CreateIndex":73,"ModifyIndex":73})";
const std::string check_text = R"({"Node":"y","CheckID":"c1","Name":"chk","Status":"passing","Notes":"","Output":"",)"
                               R"("ServiceID":"","ServiceName":"","ServiceTags":[],"Type":"","Definition":{},)"
                               R"("CreateIndex":9,"ModifyIndex":9})";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

} // namespace

TEST_CASE("one key") {
  const auto r = rendered("/v1/kv/a", state::kv_entries{{entry("a", "hello")}});
  CHECK(r.status == 200);
  CHECK(r.content_type == "application/json");
  CHECK(r.body == R"([{"LockIndex":0,"Key":"a","Flags":0,"Value":"aGVsbG8=","CreateIndex":13,"ModifyIndex":14}])");
  CHECK(header(r, "X-Consul-Index") == "42");
  CHECK(header(r, "X-Consul-Knownleader") == "true");
  CHECK(header(r, "X-Consul-Lastcontact") == "0");
  CHECK(header(r, "X-Consul-Effective-Consistency") == "(none)");
}

TEST_CASE("several keys, one of them locked, one without a value") {
  const auto row = entry("<b>&", "", session_id);
  auto locked = *row;
  locked.flags = ~std::uint64_t{0};
  locked.lock_index = 2;
  const auto r = rendered("/v1/kv/?recurse&stale", state::kv_entries{{entry("a", "x"), locked}}, {17, false});
  CHECK(r.body ==
        R"([{"LockIndex":0,"Key":"a","Flags":0,"Value":"eA==","CreateIndex":13,"ModifyIndex":14},)"
        R"({"LockIndex":2,"Key":"\u003cb\u003e\u0026","Flags":18446744073709551615,"Value":null,"Session":")" +
            session_id + R"(","CreateIndex":13,"ModifyIndex":14}])");
  CHECK(header(r, "X-Consul-Knownleader") == "false");
  CHECK(header(r, "X-Consul-Lastcontact") == "17");
}

TEST_CASE("missing keys are 404 with the meta headers and nothing else; only the list of all names is empty") {
  for (const auto target : {"/v1/kv/a", "/v1/kv/a?raw", "/v1/kv/a?recurse", "/v1/kv/?recurse"}) {
    const auto r = rendered(target, state::kv_entries{});
    CHECK(r.status == 404);
    CHECK(r.body.empty());
    CHECK(r.content_type.empty());
    CHECK(header(r, "X-Consul-Index") == "42");
  }
  CHECK(rendered("/v1/kv/a?keys", state::key_names{}).status == 404);
  CHECK(rendered("/v1/kv/?keys", state::key_names{}).status == 200);
  CHECK(rendered("/v1/kv/?keys", state::key_names{}).body == "[]");
  CHECK(rendered("/v1/kv/a?keys", state::key_names{{"a\"", "a/"}}).body == R"(["a\"","a/"])");
}

TEST_CASE("a raw value is the stored one itself, with headers against guessing") {
  const auto e = entry("a", "<b>");
  const auto r = rendered("/v1/kv/a?raw", state::kv_entries{{e}});
  CHECK(r.body_shared == e->value);
  CHECK(r.content_type == "text/plain");
  CHECK(header(r, "X-Content-Type-Options") == "nosniff");
  CHECK(header(r, "Content-Security-Policy") == "sandbox");
  CHECK(header(r, "X-Consul-Index") == "42");
  CHECK_FALSE(rendered("/v1/kv/a?raw&recurse", state::kv_entries{{e}}).body_shared);
}

TEST_CASE("strings in JSON") {
  struct row {
    std::string text, json;
  };
  for (const auto& t : std::vector<row>{{"", "\"\""},
                                        {"a\"\\/", R"("a\"\\/")"},
                                        {"\n\r\t\b\f\x01\x1f\x7f", "\"\\n\\r\\t\\u0008\\u000c\\u0001\\u001f\x7f\""},
                                        {std::string("\0", 1), R"("\u0000")"},
                                        {"<>&", R"("\u003c\u003e\u0026")"},
                                        {"\xE2\x80\xA8\xE2\x80\xA9", R"("\u2028\u2029")"},
                                        {"\xC5\xBC \xF0\x9F\x92\xA1", "\"\xC5\xBC \xF0\x9F\x92\xA1\""},
                                        {"a\xFF"
                                         "b",
                                         R"("a\ufffdb")"},
                                        {"\xC5", R"("\ufffd")"},
                                        {"\xE2\x80", R"("\ufffd\ufffd")"},
                                        {"\xC0\xAF", R"("\ufffd\ufffd")"},                          // overlong
                                        {"\xED\xA0\x80", R"("\ufffd\ufffd\ufffd")"},                // surrogate
                                        {"\xF4\x90\x80\x80x", R"("\ufffd\ufffd\ufffd\ufffdx")"}}) { // beyond Unicode
    std::string out;
    go_compat::append_json_string(out, t.text);
    CHECK(out == t.json);
  }
}

TEST_CASE("pretty JSON") {
  CHECK(go_compat::prettify_json("true") == "true\n");
  CHECK(go_compat::prettify_json("[]") == "[]\n");
  CHECK(go_compat::prettify_json(R"([{"A":1,"B":[],"C":{},"D":"{[,:\"]}"},null])") ==
        "[\n    {\n        \"A\": 1,\n        \"B\": [],\n        \"C\": {},\n        \"D\": \"{[,:\\\"]}\"\n    },\n"
        "    null\n]\n");
  CHECK(rendered("/v1/kv/?keys&pretty", state::key_names{{"a"}}).body == "[\n    \"a\"\n]\n");
}

TEST_CASE("sessions") {
  auto s = std::make_shared<state::session_record>();
  s->id = session_id;
  s->node = "n1";
  s->lock_delay_ns = 15'000'000'000;
  s->node_checks = {{"serfHealth"}};
  s->create_index = s->modify_index = log_index{94};
  const auto text = R"([{"ID":")" + session_id +
                    R"(","Name":"","Node":"n1","LockDelay":15000000000,"Behavior":"release","TTL":"",)"
                    R"("NodeChecks":["serfHealth"],"ServiceChecks":null,"CreateIndex":94,"ModifyIndex":94}])";
  const auto target = "/v1/session/info/" + session_id;
  CHECK(rendered(target.c_str(), state::sessions{{s}}).body == text);
  CHECK(rendered(target.c_str(), state::sessions{}).status == 200);
  CHECK(rendered(target.c_str(), state::sessions{}).body == "[]");
  CHECK(render_renew(session_id, s, {}).body == text);
  CHECK(render_renew(session_id, s, {}).headers.empty());
  const auto unknown = render_renew(session_id, nullptr, {});
  CHECK(unknown.status == 404);
  CHECK(unknown.body == "Session id '" + session_id + "' not found");
  s->behavior = state::session_behavior::remove;
  s->ttl = "20s";
  s->checks = {{"c"}};
  s->node_checks.reset();
  s->service_checks = {{"db-ok"}};
  CHECK(rendered("/v1/session/list", state::sessions{{s}}).body ==
        R"([{"ID":")" + session_id +
            R"(","Name":"","Node":"n1","LockDelay":15000000000,"Behavior":"delete","TTL":"20s","NodeChecks":null,)"
            R"("ServiceChecks":[{"ID":"db-ok","Namespace":""}],"Checks":["c"],"CreateIndex":94,"ModifyIndex":94}])");
}

TEST_CASE("nodes, services and checks") {
  auto r = rendered("/v1/catalog/nodes?consistent", state::nodes{{node()}});
  CHECK(r.body == "[" + node_text + "]");
  CHECK(header(r, "X-Consul-Effective-Consistency") == "consistent");
  CHECK(header(rendered("/v1/catalog/nodes?stale", state::nodes{}), "X-Consul-Effective-Consistency") == "stale");
  r = rendered("/v1/catalog/services", state::service_names{{{"consul", {}}, {"web", {"a", "b"}}}});
  CHECK(r.body == R"({"consul":[],"web":["a","b"]})");
  CHECK(header(r, "X-Consul-Effective-Consistency") == "leader");
  CHECK(rendered("/v1/catalog/services", state::service_names{}).body == "{}");
  CHECK(rendered("/v1/catalog/node/y", state::node_services{node(), {service()}}).body ==
        "{\"Node\":" + node_text + ",\"Services\":{\"db1\":" + service_text + "}}");
  CHECK(rendered("/v1/catalog/node/y", state::node_services{node(), {}}).body ==
        "{\"Node\":" + node_text + ",\"Services\":{}}");
  CHECK(rendered("/v1/catalog/node/y", state::node_services{}).body == "null");
  const auto listed = rendered("/v1/catalog/node-services/y", state::node_services{node(), {service()}}).body;
  CHECK(listed.find("\"Services\":[{\"ID\":") != std::string::npos);
  CHECK(listed.substr(listed.size() - 3) == "}]}");
  CHECK(rendered("/v1/catalog/node-services/y", state::node_services{node(), {}}).body ==
        "{\"Node\":" + node_text + ",\"Services\":null}");
  CHECK(rendered("/v1/catalog/node-services/y?filter=Service==x", state::node_services{node(), {}}).body ==
        "{\"Node\":" + node_text + ",\"Services\":[]}");
  CHECK(rendered("/v1/catalog/node-services/y", state::node_services{node(), {}, true}).body ==
        "{\"Node\":" + node_text + ",\"Services\":[]}");
  CHECK(rendered("/v1/catalog/node-services/y", state::node_services{}).body == "{\"Node\":null,\"Services\":null}");
  CHECK(rendered("/v1/health/node/y", state::checks{{check()}}).body == "[" + check_text + "]");
  CHECK(rendered("/v1/health/state/any", state::checks{}).body == "[]");
  CHECK(rendered("/v1/health/service/db", state::service_instances{{{node(), service(), {check()}}}}).body ==
        "[{\"Node\":" + node_text + ",\"Service\":" + service_text + ",\"Checks\":[" + check_text + "]}]");
}

TEST_CASE("a row of a service in the catalog") {
  auto s = service();
  CHECK(rendered("/v1/catalog/service/db", state::service_instances{{{node(), s, {}}}}).body ==
        R"([{"ID":"","Node":"y","Address":"10.0.0.2","Datacenter":"dc1","TaggedAddresses":null,"NodeMeta":null,)"
        R"("ServiceKind":"","ServiceID":"db1","ServiceName":"db","ServiceTags":[],"ServiceAddress":"",)"
        R"("ServiceWeights":{"Passing":1,"Warning":1},"ServiceMeta":{},"ServicePort":5432,)"
        R"("ServiceEnableTagOverride":false,"ServiceProxy":{"MeshGateway":{},"Expose":{}},"ServiceConnect":{},)"
        R"("CreateIndex":73,"ModifyIndex":73}])");
  s->tagged_addresses.emplace();
  (*s->tagged_addresses)["lan"] = {"1.1.1.1", 1};
  s->tags = {{"p"}};
  s->meta = {{{"m", "1"}}};
  const auto body = rendered("/v1/catalog/service/db", state::service_instances{{{node(), s, {}}}}).body;
  CHECK(
      body.find(
          R"("ServiceAddress":"","ServiceTaggedAddresses":{"lan":{"Address":"1.1.1.1","Port":1}},"ServiceWeights")") !=
      std::string::npos);
  CHECK(body.find(R"("ServiceTags":["p"])") != std::string::npos);
  CHECK(body.find(R"("ServiceMeta":{"m":"1"})") != std::string::npos);
}

TEST_CASE("transactions: results without and with values, errors, and the shape of those that only read") {
  const state::command txn = state::txn{};
  state::txn_reply done;
  done.results = {{entry("a", "x"), false},
                  {entry("a", "x"), true},
                  {std::make_shared<const state::node_record>(*node()), true},
                  {std::make_shared<const state::service_record>(*service()), true},
                  {std::make_shared<const state::check_record>(*check()), true}};
  const auto kv = [](const char* value) {
    return std::string(R"({"KV":{"LockIndex":0,"Key":"a","Flags":0,"Value":)") + value +
           R"(,"CreateIndex":13,"ModifyIndex":14}})";
  };
  auto r = render_write(txn, done, {});
  CHECK(r.status == 200);
  CHECK(r.headers.empty());
  CHECK(r.body == "{\"Results\":[" + kv("null") + "," + kv("\"eA==\"") + ",{\"Node\":" + node_text +
                      "},{\"Service\":" + replaced(service_text, "\"Tags\":[]", "\"Tags\":null") + "},{\"Check\":" +
                      replaced(check_text, "\"ServiceTags\":[]", "\"ServiceTags\":null") + "}],\"Errors\":null}");
  CHECK(render_write(txn, state::txn_reply{}, {}).body == R"({"Results":[],"Errors":null})");

  state::txn_reply failed;
  failed.errors = {{0, "failed to set key \"a\", index is stale"}, {2, "x"}};
  r = render_write(txn, failed, {});
  CHECK(r.status == 409);
  CHECK(r.content_type == "application/json");
  CHECK(r.body == R"({"Results":null,"Errors":[{"OpIndex":0,"What":"failed to set key \"a\", index is stale"},)"
                  R"({"OpIndex":2,"What":"x"}]})");

  const read_request read{state::txn_read{}, consistency::stale, 0, {}};
  r = render_read(read, {log_index{9}, state::txn_reply{}}, {38, true}, {});
  CHECK(r.body ==
        R"({"Results":[],"Errors":null,"Index":0,"LastContact":38000000,"KnownLeader":true,"ConsistencyLevel":""})");
  CHECK(header(r, "X-Consul-Index") == "(none)");
  CHECK(header(r, "X-Consul-Lastcontact") == "38");
  CHECK(render_read(read, {log_index{9}, failed}, {}, {}).status == 409);
}

TEST_CASE("writes that were decided") {
  const state::command c = state::kv_write{};
  CHECK(render_write(c, true, {}).body == "true");
  CHECK(render_write(c, false, {}).body == "false");
  CHECK(render_write(c, true, {true, false, false}).body == "true\n");
  CHECK(render_write(c, std::string("u"), {}).body == R"({"ID":"u"})");
  auto r = render_write(c, state::refusal{"invalid session \"x\""}, {});
  CHECK(r.status == 500);
  CHECK(r.body == "invalid session \"x\"");
  CHECK(r.content_type == "text/plain; charset=utf-8");
  CHECK(render_write(c, state::refusal{"Permission denied"}, {}).status == 403);
}

TEST_CASE("reads that failed: keys return nothing, sessions and catalog return that they know nothing") {
  auto r = render_read_error(read_requested("GET", "/v1/kv/a"), "No cluster leader");
  CHECK(r.status == 500);
  CHECK(r.body == "No cluster leader");
  CHECK(r.headers.empty());
  for (const auto target : {"/v1/session/list", "/v1/catalog/nodes", "/v1/health/state/any"}) {
    r = render_read_error(read_requested("GET", target), "No cluster leader");
    CHECK(header(r, "X-Consul-Index") == "1");
    CHECK(header(r, "X-Consul-Knownleader") == "false");
    CHECK(header(r, "X-Consul-Effective-Consistency") == "(none)");
  }
  r = rendered("/v1/session/list", state::refusal{"boom"});
  CHECK(r.status == 500);
  CHECK(r.body == "boom");
}
