// Policies, roles and tokens as clients see them, like Consul's (docs/contract/10, section 5).

#include "protocol/http/acl/acl_render.hpp"
#include "protocol/http/list_rows.hpp"
#include "tests/unit/protocol/http/acl/acl_requested.hpp"

using namespace belay;
using namespace belay::http;

namespace {

constexpr std::string_view token_id = "11111111-0000-0000-0000-000000000001";
const std::vector<state::acl_link> one_link{{"22222222-0000-0000-0000-000000000001", "p"}};

state::acl_policy some_policy() {
  state::acl_policy p;
  p.id = some_id;
  p.name = "p";
  p.description = "<d>";
  p.rules = "acl = \"read\"";
  p.create_index = log_index{3};
  p.modify_index = log_index{4};
  return p;
}

state::acl_token some_token() {
  state::acl_token t;
  t.accessor = token_id;
  t.secret = "s";
  t.create_time_ns = request_time_ns;
  t.create_index = log_index{5};
  t.modify_index = log_index{6};
  return t;
}

state::acl_row row_of(state::acl_policy p) {
  return {std::make_shared<const state::acl_policy>(std::move(p)), {}, {}};
}
state::acl_row row_of(state::acl_token t, std::vector<state::acl_link> policies = {},
                      std::vector<state::acl_link> roles = {}) {
  return {std::make_shared<const state::acl_token>(std::move(t)), std::move(policies), std::move(roles)};
}
state::acl_row row_of(state::acl_role r, std::vector<state::acl_link> policies = {}) {
  return {std::make_shared<const state::acl_role>(std::move(r)), std::move(policies), {}};
}

/// The row as JSON without its hash, whose format is checked.
std::string shown(const state::acl_row& row, acl_shape shape = acl_shape::whole, bool secrets = true) {
  std::string out;
  append_acl_row(out, row, shape, secrets);
  const auto begin = out.find("\"Hash\":\"") + 8;
  REQUIRE(out.find('"', begin) == begin + 44); // 32 bytes in base64
  return out.erase(begin, 44);
}

std::string hash_in(const state::acl_row& row) {
  std::string out;
  append_acl_row(out, row, acl_shape::whole, true);
  return out.substr(out.find("\"Hash\":\"") + 8, 44);
}

response answered(const state::query& q, state::acl_rows rows, render_options options = {}) {
  return render_read({q}, {log_index{9}, std::move(rows)}, {}, options);
}

} // namespace

TEST_CASE("a single policy has its rules; in a list it has none, but is shown as valid everywhere") {
  CHECK(
      shown(row_of(some_policy())) ==
      R"({"ID":"00000000-1111-2222-3333-444444444444","Name":"p","Description":"\u003cd\u003e","Rules":"acl = \"read\"","Hash":"","CreateIndex":3,"ModifyIndex":4})");
  CHECK(
      shown(row_of(some_policy()), acl_shape::listed) ==
      R"({"ID":"00000000-1111-2222-3333-444444444444","Name":"p","Description":"\u003cd\u003e","Datacenters":null,"Hash":"","CreateIndex":3,"ModifyIndex":4})");
  auto p = some_policy();
  p.datacenters = {"dc1", "dc2"};
  CHECK(shown(row_of(p)).find(R"("Rules":"acl = \"read\"","Datacenters":["dc1","dc2"],"Hash")") != std::string::npos);
  CHECK(shown(row_of(p), acl_shape::listed).find(R"("Datacenters":["dc1","dc2"])") != std::string::npos);
}

TEST_CASE("a token leaves out lists that are empty, and in lists its secret") {
  const auto end =
      R"("Local":false,"CreateTime":"2020-09-13T12:26:40.062313813Z","Hash":"","CreateIndex":5,"ModifyIndex":6})";
  const auto begin = R"({"AccessorID":"11111111-0000-0000-0000-000000000001",)";
  CHECK(shown(row_of(some_token())) == std::string(begin) + R"("SecretID":"s","Description":"",)" + end);
  CHECK(shown(row_of(some_token()), acl_shape::whole, false) ==
        std::string(begin) + R"("SecretID":"\u003chidden\u003e","Description":"",)" + end);
  CHECK(shown(row_of(some_token()), acl_shape::listed) == std::string(begin) + R"("Description":"",)" + end);

  auto t = some_token();
  t.local = true;
  t.expiration_time_ns = request_time_ns + 1'000'000'000;
  t.service_identities = {{"web", std::vector<std::string>{"dc1"}}, {"db", std::nullopt}};
  t.node_identities = {{"n", "dc1"}};
  CHECK(shown(row_of(t, one_link, {{"r1", "r"}})) ==
        std::string(begin) +
            R"("SecretID":"s","Description":"","Policies":[{"ID":"22222222-0000-0000-0000-000000000001","Name":"p"}],)"
            R"("Roles":[{"ID":"r1","Name":"r"}],"ServiceIdentities":[{"ServiceName":"web","Datacenters":["dc1"]},)"
            R"({"ServiceName":"db"}],"NodeIdentities":[{"NodeName":"n","Datacenter":"dc1"}],"Local":true,)"
            R"("ExpirationTime":"2020-09-13T12:26:41.062313813Z","CreateTime":"2020-09-13T12:26:40.062313813Z",)"
            R"("Hash":"","CreateIndex":5,"ModifyIndex":6})");
}

TEST_CASE("a role") {
  state::acl_role r;
  r.id = some_id;
  r.name = "r";
  r.create_index = log_index{1};
  r.modify_index = log_index{2};
  CHECK(
      shown(row_of(r, one_link)) ==
      R"({"ID":"00000000-1111-2222-3333-444444444444","Name":"r","Description":"",)"
      R"("Policies":[{"ID":"22222222-0000-0000-0000-000000000001","Name":"p"}],"Hash":"","CreateIndex":1,"ModifyIndex":2})");
}

// Clients compare hashes to detect changes.
TEST_CASE("the hash depends only on the content") {
  const auto policy = some_policy();
  const auto changed = [](auto of, auto change) {
    change(of);
    return hash_in(row_of(of));
  };
  using state::acl_policy;
  using state::acl_token;
  const auto same = hash_in(row_of(policy));
  CHECK(changed(policy, [](acl_policy& p) { p.modify_index = log_index{99}; }) == same);
  CHECK(changed(policy, [](acl_policy& p) { p.id = fresh_uuid; }) == same);
  CHECK(changed(policy, [](acl_policy& p) { p.datacenters.emplace(); }) == same);
  CHECK(changed(policy, [](acl_policy& p) { p.rules += " "; }) != same);
  CHECK(changed(policy, [](acl_policy& p) { p.datacenters = {"dc1"}; }) != same);
  // The boundary between members is part of it.
  CHECK(changed(policy, [](acl_policy& p) { p.name = "p<", p.description = "d>"; }) != same);

  const auto token = some_token();
  const auto token_hash = hash_in(row_of(token));
  CHECK(changed(token, [](acl_token& t) { t.create_time_ns = 1, t.secret = "x"; }) == token_hash);
  CHECK(changed(token, [](acl_token& t) { t.description = "x"; }) != token_hash);
  CHECK(changed(token, [](acl_token& t) { t.local = true; }) != token_hash);
  CHECK(changed(token, [](acl_token& t) { t.node_identities = {{"n", "dc1"}}; }) != token_hash);
  CHECK(hash_in(row_of(token, one_link)) != token_hash);
  CHECK(hash_in(row_of(token, one_link)) != hash_in(row_of(token, {}, one_link)));
  auto renamed = one_link;
  renamed[0].name = "q";
  CHECK(hash_in(row_of(token, renamed)) == hash_in(row_of(token, one_link)));
}

TEST_CASE("reads have the headers of reads, even when nothing is found") {
  const auto found = answered(state::acl_token_read{std::string(token_id)}, {{row_of(some_token())}, false});
  CHECK(found.status == 200);
  CHECK(header(found, "X-Consul-Index") == "9");
  CHECK(header(found, "X-Consul-Knownleader") == "true");
  CHECK(header(found, "X-Consul-Effective-Consistency") == "(none)");
  CHECK(found.body.find("hidden") != std::string::npos);
  const auto with_secret = answered(state::acl_token_self{}, {{row_of(some_token())}, true});
  CHECK(with_secret.body.find("\"SecretID\":\"s\"") != std::string::npos);

  for (const state::query& q :
       {state::query(state::acl_token_read{some_id}), state::query(state::acl_policy_read{{some_id, ""}}),
        state::query(state::acl_token_self{})}) {
    const auto none = answered(q, {});
    CHECK(none.status == 403);
    CHECK(none.body == "ACL not found");
    CHECK(header(none, "X-Consul-Index") == "9");
  }
  const auto no_role = answered(state::acl_role_read{{some_id, ""}}, {});
  CHECK(no_role.status == 404);
  CHECK(no_role.body.empty());
}

TEST_CASE("lists, and empty ones") {
  const auto none = answered(state::acl_policy_list{}, {});
  CHECK(none.status == 200);
  CHECK(none.body == "[]");
  const state::acl_rows rows{{row_of(some_token()), row_of(some_token())}, true};
  const auto two = answered(state::acl_token_list{}, rows);
  CHECK(two.body.starts_with("[{\"AccessorID\""));
  CHECK(two.body.find("SecretID") == std::string::npos);
  CHECK(two.body.find("},{\"AccessorID\"") != std::string::npos);
  const state::query_result result{log_index{9}, rows};
  CHECK(estimated_bytes(result) * 3 >= two.body.size());
  CHECK(same_rows(result, result));
  CHECK_FALSE(same_rows(result, {log_index{9}, state::acl_rows{{row_of(some_token())}, true}}));
}

TEST_CASE("the token list from before Consul 1.4 shows secrets as IDs") {
  auto t = some_token();
  t.description = "Master Token";
  const auto r = answered(state::acl_legacy_list{}, {{row_of(t), row_of(t)}, true});
  constexpr auto row =
      R"({"ID":"s","Name":"Master Token","Type":"management","Rules":"","CreateIndex":5,"ModifyIndex":6})";
  CHECK(r.status == 200);
  CHECK(r.body == "[" + std::string(row) + "," + row + "]");
  CHECK(header(r, "X-Consul-Index") == "9");
  CHECK(answered(state::acl_legacy_list{}, {}).body == "[]");
  const auto no = render_read({state::acl_legacy_list{}}, {log_index{9}, state::refusal{"Permission denied"}}, {}, {});
  CHECK(no.status == 403);
  CHECK(header(no, "X-Consul-Index") == "1");
  CHECK(header(no, "X-Consul-Knownleader") == "false");
}

TEST_CASE("no token has rules of its own") {
  render_options o;
  o.rules_of_token = true;
  const auto r = answered(state::acl_token_read{some_id}, {{row_of(some_token())}, true}, o);
  CHECK(r.status == 500);
  CHECK(r.body == "The specified token does not have any rules set");
  CHECK(answered(state::acl_token_read{some_id}, {}, o).status == 403);
}

TEST_CASE("writes return the row; the first one has its secret in front") {
  const auto made = render_write(state::acl_token_set{}, row_of(some_token(), one_link), {}, log_index{5});
  CHECK(made.status == 200);
  CHECK(made.body.starts_with("{\"AccessorID\":\"11111111-0000-0000-0000-000000000001\",\"SecretID\":\"s\""));
  CHECK(header(made, "X-Consul-Index") == "(none)");
  const auto first = render_write(state::acl_bootstrap{}, row_of(some_token(), one_link), {}, log_index{5});
  CHECK(first.body.starts_with("{\"ID\":\"s\",\"AccessorID\":\"11111111-0000-0000-0000-000000000001\",\"SecretID\":"));
  CHECK(render_write(state::acl_policy_delete{}, true, {}).body == "true");
}

TEST_CASE("the status of a refusal follows from its text") {
  struct row {
    const char* text;
    int status;
  };
  for (const auto& t :
       {row{"Permission denied", 403}, row{"Permission denied: Missing node:write on n1", 403},
        row{"ACL not found", 403}, row{"Permission denied: ACL bootstrap no longer allowed (reset index: 9)", 403},
        row{"Cannot resolve root ACL", 500}, row{"Invalid Policy: no Name is set", 500},
        row{"cannot find policy x", 500}, row{"Answer too large: a transaction reads more than 30000 rows", 413}}) {
    INFO(t.text);
    CHECK(status_of_refusal(t.text) == t.status);
    const auto written = render_write(state::kv_write{}, state::refusal{t.text}, {});
    CHECK(written.status == t.status);
    CHECK(written.body == t.text);
    const auto read = render_read({state::kv_get{}}, {log_index{9}, state::refusal{t.text}}, {}, {});
    CHECK(read.status == t.status);
    CHECK(header(read, "X-Consul-Index") == "(none)");
    CHECK(header(render_read({state::acl_token_list{}}, {log_index{9}, state::refusal{t.text}}, {}, {}),
                 "X-Consul-Index") == "1");
  }
}

TEST_CASE("operations that are not permitted make a transaction 409") {
  state::txn_reply t;
  t.errors = {{1, "Permission denied"}, {2, "Permission denied"}};
  const auto r = render_write(state::txn{}, t, {});
  CHECK(r.status == 409);
  CHECK(
      r.body ==
      R"({"Results":null,"Errors":[{"OpIndex":1,"What":"Permission denied"},{"OpIndex":2,"What":"Permission denied"}]})");
}

TEST_CASE("answers about permissions repeat the questions, and have no headers of reads") {
  using needed = state::permission_needed;
  const state::permissions_read requested{{{needed::of::key, acl::permission::write, "a/", true},
                                           {needed::of::operators, acl::permission::read, "", false}}};
  const auto r = render_read({requested}, {log_index{9}, state::permissions{{true, false}}}, {}, {});
  CHECK(r.status == 200);
  CHECK(r.body == R"([{"Resource":"key","Segment":"a/","Access":"write-prefix","Allow":true},)"
                  R"({"Resource":"operator","Access":"read","Allow":false}])");
  CHECK(header(r, "X-Consul-Index") == "(none)");
  const auto no = render_read({requested}, {log_index{9}, state::refusal{"ACL not found"}}, {}, {});
  CHECK(no.status == 403);
}
