// How requests under /v1/acl are parsed (docs/contract/10, section 5). Errors are those of the
// recorded exchanges in acl/*.jsonl where they do not depend on stored rows.

#include "protocol/http/acl/acl_render.hpp"
#include "tests/unit/protocol/http/acl/acl_requested.hpp"

using namespace belay;
using namespace belay::http;

namespace {

using links = std::vector<state::acl_link>;
constexpr std::int64_t minute_ns = 60'000'000'000;

std::string quoted_body(std::string_view text) {
  std::string out(text);
  for (auto& c : out)
    if (c == '\'')
      c = '"';
  return out;
}

} // namespace

TEST_CASE("with ACLs off everything about them is 401, except wrong methods") {
  struct row {
    const char *method, *target, *body;
  };
  for (const auto& t : {row{"PUT", "/v1/acl/bootstrap", ""},
                        row{"GET", "/v1/acl/tokens", ""},
                        row{"GET", "/v1/acl/list", ""},
                        row{"GET", "/v1/acl/token/self", ""},
                        row{"PUT", "/v1/acl/token", "{}"},
                        row{"PUT", "/v1/acl/token", "{"},
                        row{"GET", "/v1/acl/policies", ""},
                        row{"PUT", "/v1/acl/policy", "{\"Name\":\"x\"}"},
                        row{"GET", "/v1/acl/policy/name/x", ""},
                        row{"DELETE", "/v1/acl/policy/x", ""},
                        row{"GET", "/v1/acl/roles", ""},
                        row{"PUT", "/v1/acl/role", "{}"},
                        row{"DELETE", "/v1/acl/role/x", ""},
                        row{"GET", "/v1/acl/role/name/x", ""},
                        row{"PUT", "/v1/acl/token/x/clone", ""},
                        row{"GET", "/v1/acl/replication", ""},
                        row{"POST", "/v1/acl/rules/translate", ""},
                        row{"GET", "/v1/acl/rules/translate/x", ""},
                        row{"POST", "/v1/internal/acl/authorize", "[]"},
                        row{"PUT", "/v1/agent/token/agent", "{}"}}) {
    INFO(t.method << " " << t.target);
    const auto r = refusal_to(t.method, t.target, t.body);
    CHECK(r.status == 401);
    CHECK(r.body == "ACL support disabled");
    CHECK(r.content_type == "text/plain; charset=utf-8");
  }
  CHECK(refusal_to("GET", "/v1/acl/bootstrap").status == 405);
}

TEST_CASE("unsupported routes of ACLs are an unknown path") {
  for (const auto path : {"/v1/acl/list/", "/v1/acl/info/x", "/v1/acl/create", "/v1/acl/update", "/v1/acl/destroy/x",
                          "/v1/acl/clone/x", "/v1/acl/login", "/v1/acl/auth-methods", "/v1/acl/binding-rules"})
    CHECK(received("GET", path) == "404 ");
}

TEST_CASE("policies are read by id, by name, and all") {
  CHECK(acl_requested<state::acl_policy_read>("/v1/acl/policy/" + some_id).which == state::acl_link{some_id, ""});
  CHECK(acl_requested<state::acl_policy_read>("/v1/acl/policy/name/p1").which == state::acl_link{"", "p1"});
  acl_requested<state::acl_policy_list>("/v1/acl/policies");
  CHECK(received("GET", "/v1/acl/policy/") == "400 Bad request: Missing policy ID");
  CHECK(received("DELETE", "/v1/acl/policy/") == "400 Bad request: Missing policy ID");
  CHECK(received("GET", "/v1/acl/policy/name/") == "400 Bad request: Missing policy Name");
}

// Without the permission to read them, a client does not even learn the format of an ID.
TEST_CASE("an invalid id is rejected after the permission, and never waited for") {
  CHECK(acl_requested<state::acl_policy_read>("/v1/acl/policy/abc").which == state::acl_link{"abc", ""});
  CHECK(acl_requested<state::acl_role_read>("/v1/acl/role/abc").which == state::acl_link{"abc", ""});
  CHECK(acl_requested<state::acl_token_read>("/v1/acl/token/abc").accessor == "abc");
  CHECK(acl_requested<state::acl_token_read>("/v1/acl/rules/translate/abc").accessor == "abc");
  CHECK(acl_written<state::acl_policy_delete>("DELETE", "/v1/acl/policy/x").id == "x");
  CHECK(acl_written<state::acl_role_delete>("DELETE", "/v1/acl/role/x").id == "x");
  CHECK(acl_written<state::acl_token_clone>("PUT", "/v1/acl/token/abc/clone", "{}").of == "abc");
  CHECK(read_requested("GET", "/v1/acl/token/abc?index=7", {}, acl_settings()).min_index == 0);
  CHECK(read_requested("GET", "/v1/acl/token/" + some_id + "?index=7", {}, acl_settings()).min_index == 7);
}

TEST_CASE("reads of ACLs wait and have the consistency modes") {
  const auto r = read_requested("GET", "/v1/acl/tokens?index=7&wait=3s&stale", {}, acl_settings());
  CHECK(r.min_index == 7);
  CHECK(r.wait == std::chrono::seconds(3));
  CHECK(r.mode == consistency::stale);
  CHECK(received("GET", "/v1/acl/policies?index=x") == "400 Invalid index");
  CHECK(received("GET", "/v1/acl/policies?dc=far") == "500 No path to datacenter");
  CHECK(received("GET", "/v1/acl/policies?ns=a").substr(0, 4) == "400 ");
}

TEST_CASE("a policy is made with a fresh id and changed under its own") {
  const auto made = acl_written<state::acl_policy_set>(
      "PUT", "/v1/acl/policy",
      quoted_body("{'name':'p','DESCRIPTION':'d','Rules':'acl = \\'read\\'','Datacenters':['dc1'],'Hash':'x'}"));
  CHECK(made.fresh);
  CHECK(made.policy.id == fresh_uuid);
  CHECK(made.policy.name == "p");
  CHECK(made.policy.description == "d");
  CHECK(made.policy.rules == "acl = \"read\"");
  CHECK(made.policy.datacenters == std::vector<std::string>{"dc1"});

  const auto changed =
      acl_written<state::acl_policy_set>("PUT", "/v1/acl/policy/" + some_id, quoted_body("{'Name':'q'}"));
  CHECK_FALSE(changed.fresh);
  CHECK(changed.policy.id == some_id);
  CHECK(changed.policy.rules.empty());
  // As in Consul, a PUT or POST to the path of one row without an ID creates a row.
  CHECK(acl_written<state::acl_policy_set>("PUT", "/v1/acl/policy/", "{}").fresh);
  CHECK(acl_written<state::acl_policy_delete>("DELETE", "/v1/acl/policy/" + some_id).id == some_id);
}

TEST_CASE("policies that are rejected before any request") {
  const auto id = quoted_body("{'ID':'" + some_id + "'}");
  CHECK(received("PUT", "/v1/acl/policy", id) == "400 Bad request: Cannot specify the ID when creating a new policy");
  CHECK(received("PUT", "/v1/acl/policy/" + fresh_uuid, id) ==
        "400 Bad request: Policy ID in URL and payload do not match");
  CHECK(received("PUT", "/v1/acl/policy", "{") == "400 Bad request: Policy decoding failed: unexpected EOF");
  CHECK(received("PUT", "/v1/acl/policy") == "400 Bad request: Policy decoding failed: EOF");
  CHECK(received("PUT", "/v1/acl/policy", "{\"Foo\":1}") ==
        "400 Bad request: Policy decoding failed: json: unknown field \"Foo\"");
  CHECK(received("PUT", "/v1/acl/policy", "{\"Namespace\":\"a\"}") ==
        "400 Bad request: Policy decoding failed: json: unknown field \"Namespace\" - Namespaces are a Consul "
        "Enterprise feature");
  CHECK(received("PUT", "/v1/acl/policy", "{\"Name\":1}") ==
        "400 Bad request: Policy decoding failed: json: cannot unmarshal number into Go struct field ACLPolicy.Name of "
        "type string");
  CHECK(received("PUT", "/v1/acl/policy?ns=a", "{}").substr(0, 4) == "400 ");
}

TEST_CASE("roles are made, changed, read and removed like policies") {
  const auto made = acl_written<state::acl_role_set>(
      "PUT", "/v1/acl/role",
      quoted_body("{'Name':'r','Policies':[{'ID':'1'},{'Name':'p'}],'ServiceIdentities':[{'ServiceName':'web',"
                  "'Datacenters':['dc1']}],'NodeIdentities':[{'NodeName':'n','Datacenter':'dc1'}]}"));
  CHECK(made.fresh);
  CHECK(made.role.id == fresh_uuid);
  CHECK(made.policies == links{{"1", ""}, {"", "p"}});
  CHECK(made.role.service_identities == std::vector<state::service_identity>{{"web", std::vector<std::string>{"dc1"}}});
  CHECK(made.role.node_identities == std::vector<state::node_identity>{{"n", "dc1"}});
  CHECK_FALSE(acl_written<state::acl_role_set>("PUT", "/v1/acl/role/" + some_id, "{}").fresh);
  CHECK(acl_written<state::acl_role_delete>("DELETE", "/v1/acl/role/" + some_id).id == some_id);
  CHECK(acl_requested<state::acl_role_read>("/v1/acl/role/" + some_id).which.id == some_id);
  CHECK(acl_requested<state::acl_role_read>("/v1/acl/role/name/r").which.name == "r");
  CHECK(acl_requested<state::acl_role_list>("/v1/acl/roles?policy=abc").policy == "abc");
  CHECK(received("PUT", "/v1/acl/role", quoted_body("{'ID':'" + some_id + "'}")) ==
        "400 Bad request: Role ID in URL and payload do not match");
  CHECK(received("PUT", "/v1/acl/role", "[]").starts_with("400 Bad request: Role decoding failed: "));
  CHECK(received("GET", "/v1/acl/role/") == "400 Bad request: Missing role ID");
  CHECK(received("GET", "/v1/acl/role/name/") == "400 Bad request: Missing role Name");
}

TEST_CASE("tokens are read one by one, as one's own, and in lists") {
  CHECK(acl_requested<state::acl_token_read>("/v1/acl/token/" + some_id).accessor == some_id);
  CHECK(acl_requested<state::acl_token_list>("/v1/acl/tokens?policy=a&role=").policy == "a");
  CHECK(acl_requested<state::acl_token_list>("/v1/acl/tokens?role=b").role == "b");
  for (const auto* two : {"policy=a&role=b", "role=b&authmethod=c"})
    CHECK(received("GET", std::string("/v1/acl/tokens?") + two) ==
          "500 can only filter by one of policy, role, or methodName at a time");
  acl_requested<state::acl_token_self>("/v1/acl/token/self?token=x");
  CHECK(received("GET", "/v1/acl/token/") == "400 Bad request: Missing token ID");
}

// Recorded from Consul 1.8.7: it checks neither a datacenter nor a namespace there.
TEST_CASE("the token list from before Consul 1.4 waits and has the consistency modes, and ignores everything else") {
  const auto r = read_requested("GET", "/v1/acl/list?index=7&wait=3s&stale&dc=far&ns=a", {}, acl_settings());
  CHECK(std::holds_alternative<state::acl_legacy_list>(r.query));
  CHECK(r.min_index == 7);
  CHECK(r.mode == consistency::stale);
  CHECK(received("GET", "/v1/acl/list?index=x") == "400 Invalid index");
  CHECK(received("GET", "/v1/acl/list?stale&consistent") ==
        "400 Cannot specify ?stale with ?consistent, conflicting semantics.");
  CHECK(received("PUT", "/v1/acl/list") == "405 method PUT not allowed");
}

TEST_CASE("a token is created with the client's values, and fresh ids for the rest") {
  const auto made = acl_written<state::acl_token_set>(
      "PUT", "/v1/acl/token",
      quoted_body("{'Description':'d','Policies':[{'Name':'p'}],'Roles':[{'ID':'r'}],'Local':true,'NodeIdentities':"
                  "[{'NodeName':'n','Datacenter':'dc1'}],'CreateTime':'2021-01-01T00:00:00Z','CreateIndex':5}"));
  CHECK(made.fresh);
  CHECK(made.token.accessor == fresh_uuid);
  CHECK(made.token.secret == fresh_uuid);
  CHECK(made.token.description == "d");
  CHECK(made.token.local);
  CHECK(made.token.create_time_ns == request_time_ns);
  CHECK(made.token.expiration_time_ns == 0);
  CHECK(made.lives_ns == 0);
  CHECK(made.policies == links{{"", "p"}});
  CHECK(made.roles == links{{"r", ""}});

  const auto chosen = acl_written<state::acl_token_set>(
      "PUT", "/v1/acl/token",
      quoted_body("{'AccessorID':'A1B2C3D4-0000-4000-8000-00000000A001','SecretID':'A1B2C3D4-0000-4000-8000-"
                  "00000000A002'}"));
  CHECK(chosen.token.accessor == "A1B2C3D4-0000-4000-8000-00000000A001");
  CHECK(chosen.token.secret == "A1B2C3D4-0000-4000-8000-00000000A002");
  // A client that may not create tokens gets that error first, so the state machine checks IDs.
  CHECK(acl_written<state::acl_token_set>("PUT", "/v1/acl/token", quoted_body("{'AccessorID':'abc'}")).token.accessor ==
        "abc");
}

TEST_CASE("tokens that are rejected before any request") {
  for (const auto& secret : {std::string("a\\r\\nX: b"), std::string("a b"), std::string(256, 'x')})
    CHECK(received("PUT", "/v1/acl/token", "{\"SecretID\":\"" + secret + "\"}") ==
          "500 Invalid Token: SecretID is not a valid UUID");
  CHECK(received("PUT", "/v1/acl/token", "{") == "400 Bad request: Token decoding failed: unexpected EOF");
  CHECK(received("PUT", "/v1/acl/token", "{\"Policies\":{}}")
            .starts_with("400 Bad request: Token decoding failed: json: "));
  CHECK(received("PUT", "/v1/acl/token", "{\"Policies\":[{\"X\":1}]}") ==
        "400 Bad request: Token decoding failed: json: unknown field \"X\"");
  CHECK(received("PUT", "/v1/acl/token", "{\"Rules\":\"key\"}") == "500 Rules cannot be specified for this token");
  CHECK(received("PUT", "/v1/acl/token", "{\"AuthMethod\":\"k8s\"}") ==
        "500 AuthMethod field is disallowed outside of Login");
  CHECK(received("PUT", "/v1/acl/token/" + some_id, "{\"AccessorID\":\"" + fresh_uuid + "\"}") ==
        "400 Bad request: Token Accessor ID in URL and payload do not match");
  CHECK(received("DELETE", "/v1/acl/token/x") == "500 Accessor ID is missing or an invalid UUID");
}

TEST_CASE("a token lives between a minute and a day, from now on") {
  struct row {
    const char* body;
    std::int64_t minutes;
  };
  for (const auto& t : {row{"{'ExpirationTTL':'1m'}", 1}, row{"{'ExpirationTTL':'24h'}", 1440},
                        row{"{'ExpirationTTL':120000000000}", 2}, row{"{'ExpirationTTL':[]}", 0},
                        row{"{'ExpirationTime':'2020-09-13T12:28:40.062313813Z'}", 2},
                        row{"{'ExpirationTime':'2020-09-13T14:28:40.062313813+02:00'}", 2},
                        row{"{'ExpirationTime':'0001-01-01T00:00:00Z'}", 0}, row{"{'ExpirationTime':null}", 0}}) {
    INFO(t.body);
    const auto made = acl_written<state::acl_token_set>("PUT", "/v1/acl/token", quoted_body(t.body));
    CHECK(made.lives_ns == t.minutes * minute_ns);
    CHECK(made.token.expiration_time_ns == (t.minutes == 0 ? 0 : request_time_ns + t.minutes * minute_ns));
  }
  const auto refused_for = [](const char* body) { return received("PUT", "/v1/acl/token", quoted_body(body)); };
  CHECK(refused_for("{'ExpirationTTL':'10s'}") ==
        "500 ExpirationTime cannot be less than 1m0s in the future (was 10s)");
  CHECK(refused_for("{'ExpirationTTL':'48h'}") ==
        "500 ExpirationTime cannot be more than 24h0m0s in the future (was 48h0m0s)");
  CHECK(refused_for("{'ExpirationTTL':'-1s'}") == "500 Token Expiration TTL '-1s' should be > 0");
  CHECK(refused_for("{'ExpirationTTL':'2m','ExpirationTime':'2020-09-13T12:28:40Z'}") ==
        "500 Token Expiration TTL and Expiration Time cannot both be set");
  CHECK(refused_for("{'ExpirationTime':'2020-09-13T12:26:40Z'}") == "500 ExpirationTime cannot be before CreateTime");
  CHECK(refused_for("{'ExpirationTime':'1066-10-14T09:00:00Z'}") == "500 ExpirationTime cannot be before CreateTime");
  // More nanoseconds than 63 bits hold: no overflow.
  CHECK(refused_for("{'ExpirationTime':'9999-01-01T00:00:00Z'}")
            .starts_with("500 ExpirationTime cannot be more than 24h0m0s in the future (was "));
  CHECK(refused_for("{'ExpirationTime':'tomorrow'}")
            .starts_with("400 Bad request: Token decoding failed: parsing time \"tomorrow\""));
  CHECK(refused_for("{'ExpirationTTL':''}").starts_with("400 Bad request: Token decoding failed: time: "));
  CHECK(refused_for("{'ExpirationTTL':'soon'}").starts_with("400 Bad request: Token decoding failed: time: "));
}

TEST_CASE("a token is changed under its accessor, keeps its secret, and may repeat when it expires") {
  const auto changed = acl_written<state::acl_token_set>("PUT", "/v1/acl/token/" + some_id,
                                                         quoted_body("{'Description':'x','ExpirationTime':"
                                                                     "'2020-09-13T12:28:40.062313813Z'}"));
  CHECK_FALSE(changed.fresh);
  CHECK(changed.token.accessor == some_id);
  CHECK(changed.token.secret.empty());
  CHECK(changed.token.expiration_time_ns == request_time_ns + 2 * minute_ns);
  CHECK(changed.lives_ns == 0);
  CHECK(acl_written<state::acl_token_set>("PUT", "/v1/acl/token/" + some_id, quoted_body("{'ExpirationTTL':'2m'}"))
            .lives_ns == 2 * minute_ns); // rejected, but not here
  CHECK(acl_written<state::acl_token_delete>("DELETE", "/v1/acl/token/" + some_id).accessor == some_id);
}

TEST_CASE("a clone may have a description of its own") {
  const auto path = "/v1/acl/token/" + some_id + "/clone";
  const auto clone = acl_written<state::acl_token_clone>("PUT", path, quoted_body("{'Description':'copy'}"));
  CHECK(clone.of == some_id);
  CHECK(clone.accessor == fresh_uuid);
  CHECK(clone.secret == fresh_uuid);
  CHECK(clone.description == "copy");
  CHECK(clone.time_ns == request_time_ns);
  CHECK_FALSE(acl_written<state::acl_token_clone>("PUT", path, "{}").description);
  CHECK(received("PUT", path) == "400 Bad request: Token decoding failed: EOF");
}

TEST_CASE("the first token gets two different ids") {
  int made = 0;
  const raw_request r{"PUT", "/v1/acl/bootstrap", {}, {}, "127.0.0.1", request_time_ns};
  const auto p = parse(r, acl_settings(), [&] { return "uuid" + std::to_string(++made); });
  const auto& command = std::get<state::acl_bootstrap>(std::get<write_request>(p.action).command);
  CHECK(command.accessor == "uuid1");
  CHECK(command.secret == "uuid2");
  CHECK(command.time_ns == request_time_ns);
  CHECK(command.reset_index.is_zero());
}

TEST_CASE("there is no replication to report") {
  const auto r = refusal_to("GET", "/v1/acl/replication", {}, {}, acl_settings());
  CHECK(r.status == 200);
  CHECK(r.body.starts_with("{\"Enabled\":false,\"Running\":false,\"SourceDatacenter\":\"\""));
}

TEST_CASE("rules are translated only for tokens that may read ACLs") {
  const auto p = ask("POST", "/v1/acl/rules/translate", "key \"a\" { policy = \"read\" }", {}, acl_settings());
  CHECK(p.needs == access::acl_read);
  const auto& local = std::get<local_request>(p.action);
  CHECK(local.kind == local_kind::translate_rules);
  const auto r = render_translation(local);
  CHECK(r.status == 200);
  CHECK(r.body == "key_prefix \"a\" {\n  policy = \"read\"\n}");
  CHECK(r.content_type == "text/plain; charset=utf-8");
  const auto bad = render_translation({.kind = local_kind::translate_rules, .text = "key {"});
  CHECK(bad.status == 400);
  CHECK(bad.body.starts_with("Bad request: Failed to parse rules: "));

  const auto of_token = ask("GET", "/v1/acl/rules/translate/" + some_id + "?index=3", {}, {}, acl_settings());
  CHECK(of_token.options.rules_of_token);
  CHECK(std::get<read_request>(of_token.action).min_index == 0);
  CHECK(received("GET", "/v1/acl/rules/translate/") == "400 Bad request: Missing token ID");
}

TEST_CASE("questions about permissions") {
  using needed = state::permission_needed;
  const auto path = "/v1/internal/acl/authorize";
  const auto requested = acl_requested<state::permissions_read>(
      path, "POST",
      quoted_body(
          "[{'Resource':'key','Segment':'a/','Access':'WRITE'},{'Resource':'key','Segment':'a','Access':'list'},"
          "{'Resource':'operator','Access':'read'},{'Resource':'key','Segment':'b','Access':'write-prefix'}]"));
  CHECK(requested.requested == std::vector<needed>{{needed::of::key, acl::permission::write, "a/", false},
                                                   {needed::of::key, acl::permission::list, "a", false},
                                                   {needed::of::operators, acl::permission::read, "", false},
                                                   {needed::of::key, acl::permission::write, "b", true}});
  CHECK(ask("POST", path, "[{\"Resource\":\"acl\",\"Access\":\"read\"}]", {}, acl_settings()).needs ==
        access::by_state);
  const auto refused_for = [&](const std::string& body) { return received("POST", path, quoted_body(body)); };
  CHECK(refused_for("[]") == "200 []");
  CHECK(refused_for("null") == "200 []");
  CHECK(refused_for("") == "400 Bad request: Failed to decode request body: EOF");
  CHECK(refused_for("{}").starts_with("400 Bad request: Failed to decode request body: json: cannot unmarshal object"));
  CHECK(refused_for("[{'Resource':'moon','Access':'read'}]") ==
        "400 Bad request: Invalid ACL resource requested: \"moon\"");
  CHECK(refused_for("[{'Resource':'node','Access':'list'}]") ==
        "400 Bad request: Invalid access level for node resource: list");
  std::string many = "[{}";
  for (int i = 0; i < 64; ++i)
    many += ",{}";
  CHECK(refused_for(many + "]") == "400 Bad request: Refusing to process more than 64 authorizations at once");
}

TEST_CASE("an agent's own tokens are changed by their names, old and new") {
  struct row {
    const char* name;
    agent_token_kind kind;
  };
  for (const auto& t : {row{"default", agent_token_kind::of_requests}, row{"acl_token", agent_token_kind::of_requests},
                        row{"agent", agent_token_kind::agent}, row{"acl_agent_token", agent_token_kind::agent},
                        row{"agent_master", agent_token_kind::agent_master},
                        row{"acl_agent_master_token", agent_token_kind::agent_master},
                        row{"replication", agent_token_kind::replication},
                        row{"acl_replication_token", agent_token_kind::replication}}) {
    INFO(t.name);
    const auto p = ask("PUT", std::string("/v1/agent/token/") + t.name, "{\"Token\":\"s\"}", {}, acl_settings());
    CHECK(p.needs == access::agent_write);
    const auto& local = std::get<local_request>(p.action);
    CHECK(local.kind == local_kind::agent_token);
    CHECK(local.token.kind == t.kind);
    CHECK(local.token.secret == "s");
  }
  // The permission is checked first.
  for (const std::string name : {"mine", ""}) {
    const auto p = ask("PUT", "/v1/agent/token/" + name, "{}", {}, acl_settings());
    CHECK(p.needs == access::agent_write);
    const auto& local = std::get<local_request>(p.action);
    CHECK(local.token.kind == agent_token_kind::unknown);
    CHECK(local.text == name);
  }
  CHECK(received("PUT", "/v1/agent/token/agent") == "400 Request decode failed: EOF");
  // It would be written into a header of each request of this agent.
  for (const std::string secret : {"a\\r\\nX: b", "a b", "\\u0000", "\\u007f", "\\u00e4"})
    CHECK(received("PUT", "/v1/agent/token/agent", "{\"Token\":\"" + secret + "\"}") == "400 Invalid Token");
  CHECK(received("PUT", "/v1/agent/token/agent", "{\"Token\":\"" + std::string(256, 'x') + "\"}") ==
        "400 Invalid Token");
  CHECK(received("PUT", "/v1/agent/token/agent", "{\"Token\":1}").starts_with("400 Request decode failed: json: "));
  CHECK(received("PUT", "/v1/agent/token/agent", "{\"X\":1}") ==
        "400 Request decode failed: json: unknown field \"X\"");
}
