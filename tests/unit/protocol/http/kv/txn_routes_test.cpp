// Transactions as requests (docs/contract/05).

#include "tests/unit/protocol/http/requested.hpp"

using namespace belay;
using namespace belay::http;
using state::kv_verb;

namespace {

state::txn txn_of(std::string_view body) {
  return written<state::txn>("PUT", "/v1/txn", body);
}

std::string kv_op_text(std::string_view verb) {
  return std::string(R"([{"KV":{"Verb":")") + std::string(verb) + R"(","Key":"k"}}])";
}

constexpr auto read_only_tail = R"(,"Index":0,"LastContact":0,"KnownLeader":true,"ConsistencyLevel":""})";

} // namespace

TEST_CASE("verbs of keys, and whether they write") {
  struct row {
    const char* name;
    kv_verb verb;
    bool writes;
  };
  for (const auto& t :
       {row{"set", kv_verb::set, true}, row{"cas", kv_verb::cas, true}, row{"lock", kv_verb::lock, true},
        row{"unlock", kv_verb::unlock, true}, row{"get", kv_verb::get, false},
        row{"get-tree", kv_verb::get_tree, false}, row{"check-index", kv_verb::check_index, false},
        row{"check-session", kv_verb::check_session, false}, row{"check-not-exists", kv_verb::check_not_exists, false},
        row{"delete", kv_verb::remove, true}, row{"delete-tree", kv_verb::remove_tree, true},
        row{"delete-cas", kv_verb::remove_cas, true}}) {
    INFO(t.name);
    const auto body = kv_op_text(t.name);
    const auto txn =
        t.writes ? txn_of(body) : std::get<state::txn_read>(read_requested("PUT", "/v1/txn", body).query).ops;
    REQUIRE(txn.ops.size() == 1);
    CHECK(std::get<state::kv_op>(txn.ops[0]).verb == t.verb);
  }
}

TEST_CASE("members of a key operation") {
  const auto txn =
      txn_of(R"([{"kv":{"verb":"set","key":"a","value":"AP8=","flags":18446744073709551615,"Namespace":"x"}},
                              {},null,{"KV":{"Verb":"cas","Key":"b","Value":null,"Index":7,"Session":"s"}}] trailing)");
  REQUIRE(txn.ops.size() == 2); // empty elements are ignored
  const auto& a = std::get<state::kv_op>(txn.ops[0]);
  CHECK(a.key == "a");
  CHECK(*a.value == std::string("\0\xFF", 2));
  CHECK(a.flags == ~std::uint64_t{0});
  const auto& b = std::get<state::kv_op>(txn.ops[1]);
  CHECK(*b.value == "");
  CHECK(b.index == log_index{7});
  CHECK(b.session == "s");
}

TEST_CASE("operations on nodes, services and checks") {
  const auto txn = txn_of(R"([
    {"Node":{"Verb":"cas","Node":{"Node":"x","Address":"1.2.3.4","Meta":{"k":"v"},"ModifyIndex":9}}},
    {"Service":{"Verb":"set","Node":"x","Service":{"ID":"w1","Service":"web","Port":80,"Tags":["a"],
                "Weights":{"Passing":3,"Warning":2},"TaggedAddresses":{"lan":{"Address":"9.9.9.9","Port":1}}}}},
    {"Check":{"Verb":"delete-cas","Check":{"Node":"x","CheckID":"c","Name":"n","ModifyIndex":5,
              "Definition":{"HTTP":"http://h","Interval":"1m","Header":{"X":["1"]}}}}},
    {"KV":{"Verb":"set","Key":"first"},"Node":{"Verb":"set","Node":{"Node":"ignored"}}}])");
  REQUIRE(txn.ops.size() == 4);
  const auto& n = std::get<state::node_op>(txn.ops[0]);
  CHECK(n.verb == state::catalog_verb::cas);
  CHECK(n.node.datacenter == "dc1");
  CHECK(n.node.meta->at("k") == "v");
  CHECK(n.node.modify_index == log_index{9});
  const auto& s = std::get<state::service_op>(txn.ops[1]).service;
  CHECK(s.node == "x");
  CHECK(s.id == "w1");
  CHECK(s.weights.passing == 3);
  CHECK(s.weights.warning == 2);
  CHECK(s.tagged_addresses->at("lan").address == "9.9.9.9");
  const auto& c = std::get<state::check_op>(txn.ops[2]);
  CHECK(c.verb == state::catalog_verb::remove_cas);
  CHECK(c.check.type == "http");
  CHECK(c.check.definition_json == R"({"Interval":"1m0s","HTTP":"http://h","Header":{"X":["1"]}})");
  CHECK(std::get<state::kv_op>(txn.ops[3]).key == "first");
}

TEST_CASE("a transaction that only reads is a read in the requested mode and never waits") {
  const auto r = read_requested("PUT", "/v1/txn?stale&index=5&wait=1s", kv_op_text("get"));
  CHECK(r.mode == consistency::stale);
  CHECK(r.min_index == 0);
  CHECK(refusal_to("PUT", "/v1/txn?stale&consistent", kv_op_text("get")).status == 400);
  // With a write in it those parameters are ignored.
  CHECK(
      std::holds_alternative<write_request>(ask("PUT", "/v1/txn?stale&consistent&index=x", kv_op_text("set")).action));
  CHECK(refusal_to("PUT", "/v1/txn?dc=x", kv_op_text("set")).body == "No path to datacenter");
  for (const auto empty : {"[]", "[{}]", "null"})
    CHECK(std::get<state::txn_read>(read_requested("PUT", "/v1/txn?ns=x", empty).query).ops.ops.empty());
}

// Clients without base64 send the value as a list of bytes, which Go's decoder accepts.
TEST_CASE("the value of an operation may be a list of bytes") {
  const auto body = R"([{"KV":{"Verb":"set","Key":"a","Value":[104,105,0]}}])";
  const auto txn = written<state::txn>("PUT", "/v1/txn", body);
  CHECK(std::string_view(*std::get<state::kv_op>(txn.ops.at(0)).value) == std::string_view("hi\0", 3));
}

// Consul decodes transactions into its client's structures, which have other members.
TEST_CASE("members that only transactions have, and that only registrations have") {
  const auto service = R"({"Service":"s","ContentHash":"x","Namespace":"x"})";
  const auto definition = R"({"TTL":"no duration","GRPC":7,"ScriptArgs":"x","IntervalDuration":"3s","TCP":"t"})";
  const auto checked =
      std::string(R"({"Node":"n","CheckID":"c","Name":"c","Namespace":"x","Definition":)") + definition + "}";
  const auto txn = written<state::txn>("PUT", "/v1/txn",
                                       std::string(R"([{"Service":{"Verb":"set","Node":"n","Service":)") + service +
                                           R"(}},{"Check":{"Verb":"set","Check":)" + checked + "}}]");
  REQUIRE(txn.ops.size() == 2);
  CHECK(std::get<state::check_op>(txn.ops[1]).check.definition_json == R"({"Interval":"3s","TCP":"t"})");
  for (const auto& of_transaction : {std::string(R"("Service":)") + service, std::string(R"("Check":)") + checked})
    CHECK(refusal_to("PUT", "/v1/catalog/register", R"({"Node":"n","Address":"a",)" + of_transaction + "}").status ==
          400);
}

TEST_CASE("bodies that are not transactions") {
  struct row {
    const char *body, *text;
  };
  for (const auto& t : {row{"", "EOF"}, row{"{\"KV\":", "unexpected EOF"},
                        row{R"({"KV":{}})", "json: cannot unmarshal object into Go value of type api.TxnOps"},
                        row{R"([{"KV":{"Key":"a","Value":"%%%"}}])", "illegal base64 data at input byte 0"},
                        row{R"([{"KV":{"Key":"a","Value":"YWJ"}}])", "illegal base64 data at input byte 3"},
                        row{R"([{"KV":{"Key":"a","Value":"YQ==x"}}])", "illegal base64 data at input byte 4"},
                        row{R"([{"KV":{"Bogus":1,"Key":7}}])", "json: unknown field \"Bogus\""},
                        row{R"([{"Nonsense":{"Verb":"set"}}])", "json: unknown field \"Nonsense\""},
                        row{R"([{"Session":{"Verb":"delete"}}])", "json: unknown field \"Session\""},
                        row{R"([{"KV":{"Value":5}}])",
                            "json: cannot unmarshal number into Go struct field KVTxnOp.KV.Value of type []uint8"},
                        row{R"([{"KV":{"Flags":-1}}])",
                            "json: cannot unmarshal number -1 into Go struct field KVTxnOp.KV.Flags of type uint64"},
                        row{R"([{"KV":{"Flags":8e1}}])",
                            "json: cannot unmarshal number 8e1 into Go struct field KVTxnOp.KV.Flags of type uint64"},
                        row{R"([{"KV":{"Value":[97,256]}}])",
                            "json: cannot unmarshal number 256 into Go struct field KVTxnOp.KV.Value of type uint8"},
                        row{R"([{"KV":{"Flags":"x"}}])",
                            "json: cannot unmarshal string into Go struct field KVTxnOp.KV.Flags of type uint64"}}) {
    const auto r = refusal_to("PUT", "/v1/txn", t.body);
    CHECK(r.status == 400);
    CHECK(r.body == std::string("Failed to parse body: ") + t.text);
  }
  const auto deep = std::string(100'000, '[');
  CHECK(refusal_to("PUT", "/v1/txn", deep).status == 400);
}

TEST_CASE("unknown verbs fail the transaction with the shape it would have had") {
  auto r = refusal_to("PUT", "/v1/txn", kv_op_text("SET"));
  CHECK(r.status == 409);
  CHECK(r.content_type == "application/json");
  CHECK(r.body ==
        std::string(R"({"Results":null,"Errors":[{"OpIndex":0,"What":"unknown KV verb \"SET\""}])") + read_only_tail);
  CHECK(header(r, "X-Consul-Knownleader") == "true");
  r = refusal_to("PUT", "/v1/txn", R"([{"Node":{"Verb":"bogus","Node":{"Node":"x"}}}])");
  CHECK(r.body == R"({"Results":null,"Errors":[{"OpIndex":0,"What":"unknown Node verb \"bogus\""}]})");
  CHECK(header(r, "X-Consul-Knownleader") == "(none)");
  // Errors in arguments are found first and reported alone.
  r = refusal_to("PUT", "/v1/txn", R"([{"KV":{"Verb":"x","Key":"a"}},{"KV":{"Verb":"set"}}])");
  CHECK(r.body == R"({"Results":null,"Errors":[{"OpIndex":1,"What":"Must provide key"}]})");
}

TEST_CASE("limits of a transaction") {
  const auto many = [](int n) {
    std::string body = "[";
    for (int i = 0; i < n; ++i)
      body += std::string(i ? "," : "") + R"({"KV":{"Verb":"set","Key":"k","Value":"YQ=="}})";
    return body + "]";
  };
  CHECK(txn_of(many(64)).ops.size() == 64);
  auto r = refusal_to("PUT", "/v1/txn", many(65));
  CHECK(r.status == 413);
  CHECK(r.body == "Transaction contains too many operations (65 > 64)");
  auto s = usual_settings();
  s.kv_max_value_size = 3;
  r = refusal_to("PUT", "/v1/txn", R"([{"KV":{"Verb":"set","Key":"k","Value":"YWJjZA=="}}])", {}, s);
  CHECK(r.status == 413);
  CHECK(r.body == "Value for key \"k\" is too large (4 > 3 bytes)");
  CHECK(refusal_to("PUT", "/v1/txn", std::string(524289, 'x')).body ==
        "Request body(524289 bytes) too large, max size: 524288 bytes. See "
        "https://www.consul.io/docs/agent/options.html#txn_max_req_len.");
}
