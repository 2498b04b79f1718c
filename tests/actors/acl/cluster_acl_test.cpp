// ACLs in a cluster: their first rows, and that all servers decide alike.

#include "protocol/base/uuid.hpp"
#include "protocol/state/acl/permissions.hpp"
#include "tests/actors/cluster_fixture.hpp"
#include "tests/unit/protocol/state/claims/claims_driver.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <functional>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using http::consistency;

namespace {

const std::string master_secret = "root-secret";
const std::string secret = "11111111-2222-4333-8444-555555555555";
const std::string accessor = "11111111-2222-4333-8444-666666666666";
const std::string policy_id = "11111111-2222-4333-8444-777777777777";

cluster_options cluster_with_acls(const std::string& master = master_secret) {
  cluster_options o;
  o.machine.acl_enabled = true;
  o.machine.master_token = master;
  o.machine.uuid = [made = std::make_shared<std::uint64_t>(0)] { return uuid_of(1, ++*made); };
  return o;
}

state::auth_context named(const std::string& who) {
  return {who, false, "dc1"};
}
template <class What>
What as(const std::string& who, What what) {
  what.by = named(who);
  return what;
}
state::query get_key(const std::string& key) {
  return state::kv_get{key};
}

/// Empty: it was answered; else the reason of the rejection.
std::string refusal_in(const read_result& r) {
  if (const auto* f = std::get_if<failure>(&r.answer))
    return "500 " + f->text;
  const auto* no = std::get_if<state::refusal>(&std::get<state::query_result>(r.answer).data);
  return no == nullptr ? "" : no->text;
}
std::string refusal_in(const write_result& r) {
  if (r.outcome != wire::call_outcome::done)
    return "500 " + r.text;
  const auto* no = std::get_if<state::refusal>(&r.reply);
  return no == nullptr ? "" : no->text;
}

std::size_t tokens_at(cluster_fixture& c, std::size_t node) {
  const auto r = c.found(c.read(node, as(master_secret, state::query(state::acl_token_list{})), consistency::normal));
  INFO(refusal_in(r));
  REQUIRE(refusal_in(r).empty());
  return std::get<state::acl_rows>(std::get<state::query_result>(r.answer).data).list.size();
}

void must(cluster_fixture& c, std::size_t node, const state::command& what) {
  const auto why = refusal_in(c.written(c.write(node, as(master_secret, what))));
  INFO(why);
  REQUIRE(why.empty());
}

void set_policy(cluster_fixture& c, std::size_t node, const std::string& rules, bool fresh) {
  state::acl_policy_set p;
  p.policy.id = policy_id;
  p.policy.name = "some";
  p.policy.rules = rules;
  p.fresh = fresh;
  must(c, node, p);
}
/// Creates a token with these rules at that server.
void make_token(cluster_fixture& c, std::size_t node, const std::string& rules) {
  set_policy(c, node, rules, true);
  state::acl_token_set t;
  t.token.accessor = accessor;
  t.token.secret = secret;
  t.policies = {{policy_id, ""}};
  t.fresh = true;
  must(c, node, t);
}
void delete_token(cluster_fixture& c, std::size_t node) {
  must(c, node, state::acl_token_delete{accessor});
}

/// Isolates a node during `meanwhile`: its tables lag, and catch up with a request to the leader.
void fall_behind(cluster_fixture& c, std::size_t node, const std::function<void()>& meanwhile) {
  c.net().partition({{node}, c.all_but(node)});
  meanwhile();
  c.net().heal();
}

/// Waits until the cluster's tables have what ACLs need.
std::size_t ready(cluster_fixture& c) {
  const auto leader = c.leader();
  REQUIRE(tokens_at(c, leader) > 0);
  return leader;
}

state::acl_token_set token_of_a_minute() {
  state::acl_token_set t;
  t.token.accessor = uuid_of(7, 1);
  t.token.secret = uuid_of(7, 2);
  t.policies = {{policy_id, ""}};
  t.lives_ns = std::chrono::nanoseconds(seconds(60)).count();
  t.token.expiration_time_ns = 1;
  t.fresh = true;
  return t;
}

} // namespace

TEST_CASE("the leader writes the rows that ACLs need, and the next leader does not repeat it", "[actors][acl]") {
  cluster_fixture c(cluster_with_acls());
  const auto first = ready(c);
  CHECK(tokens_at(c, 0) == 2); // anonymous and master
  CHECK(tokens_at(c, 1) == 2);
  CHECK(tokens_at(c, 2) == 2);
  c.crash(first);
  const auto second = c.leader(c.all_but(first));
  c.pass(seconds(3));
  CHECK(tokens_at(c, second) == 2);
  c.start(first);
  CHECK(c.converged());
}

TEST_CASE("a deleted master token is created again by the next leader, not before", "[actors][acl]") {
  cluster_fixture c(cluster_with_acls());
  const auto first = ready(c);
  make_token(c, first, "acl = \"write\"");
  const auto all =
      c.found(c.read(first, as(master_secret, state::query(state::acl_token_list{})), consistency::normal));
  const auto& list = std::get<state::acl_rows>(std::get<state::query_result>(all.answer).data).list;
  std::string master;
  for (const auto& each : list)
    if (const auto& t = std::get<state::acl_token_ptr>(each.row); t->secret == master_secret)
      master = t->accessor;
  REQUIRE_FALSE(master.empty());
  // A token cannot delete itself.
  const auto deletion = c.write(first, as(secret, state::command(state::acl_token_delete{master})));
  REQUIRE(refusal_in(c.written(deletion)) == "");
  c.pass(seconds(5));
  const auto read = [&](std::size_t node) {
    return refusal_in(c.found(c.read(node, as(master_secret, get_key("a")), consistency::normal)));
  };
  CHECK(read(first) == state::acl_not_found);
  c.crash(first);
  const auto second = c.leader(c.all_but(first));
  c.pass(seconds(3));
  CHECK(read(second) == "");
}

TEST_CASE("before ACLs have their rows, reads with a token wait and writes are rejected for a retry", "[actors][acl]") {
  cluster_fixture c(cluster_with_acls());
  const auto reading = c.read(0, as(master_secret, get_key("a")), consistency::normal);
  const auto why = refusal_in(c.written(c.write(0, as(master_secret, set_key("a", "1")))));
  CHECK(why.find("500 ACLs are not active yet") == 0);
  ready(c);
  CHECK(refusal_in(c.found(reading)) == "");
  CHECK(refusal_in(c.written(c.write(0, as(master_secret, set_key("a", "1"))))) == "");
}

TEST_CASE("without ACLs no rows are written for them, and nothing is authorized", "[actors][acl]") {
  cluster_fixture c;
  const auto leader = c.leader();
  c.put_done(leader, "a", "1");
  CHECK(value_of(c.found(c.get(leader, "a"))) == "1");
  c.pass(seconds(2));
  const auto tokens = c.found(c.read(leader, state::acl_token_list{}, consistency::normal));
  CHECK(std::get<state::acl_rows>(std::get<state::query_result>(tokens.answer).data).list.empty());
}

TEST_CASE("a token created at one server is valid at every other one, with its permissions", "[actors][acl]") {
  cluster_fixture c(cluster_with_acls());
  const auto leader = ready(c);
  make_token(c, leader, R"(key_prefix "app/" { policy = "write" })");
  for (std::size_t i = 0; i < 3; ++i) {
    INFO("server " << i);
    CHECK(refusal_in(c.written(c.write(i, as(secret, set_key("app/a", "1"))))) == "");
    CHECK(refusal_in(c.written(c.write(i, as(secret, set_key("other", "1"))))) == state::permission_denied);
    CHECK(value_of(c.found(c.read(i, as(secret, get_key("app/a")), consistency::normal))) == "1");
    CHECK(refusal_in(c.found(c.read(i, as(secret, get_key("other")), consistency::normal))) ==
          state::permission_denied);
    CHECK(refusal_in(c.written(c.write(i, as("wrong", set_key("app/a", "2"))))) == state::acl_not_found);
    CHECK(refusal_in(c.found(c.read(i, as("wrong", get_key("app/a")), consistency::normal))) == state::acl_not_found);
  }
  CHECK(c.stale(leader, "other") == "(none)");
  CHECK(c.converged());
}

// The log decides: an authorized write must not be done if its token is deleted on the way.
TEST_CASE("a write in the name of a deleted token is refused at every server", "[actors][acl]") {
  cluster_fixture c(cluster_with_acls());
  const auto leader = ready(c);
  make_token(c, leader, R"(key_prefix "" { policy = "write" })");
  CHECK(refusal_in(c.written(c.write(leader, as(secret, set_key("a", "1"))))) == "");
  // Both are in flight at once; the deletion comes first.
  const auto deletion = c.write(leader, as(master_secret, state::command(state::acl_token_delete{accessor})));
  c.settle();
  const auto late = c.write((leader + 1) % 3, as(secret, set_key("a", "2")));
  CHECK(refusal_in(c.written(deletion)) == "");
  CHECK(refusal_in(c.written(late)) == state::acl_not_found);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(refusal_in(c.written(c.write(i, as(secret, set_key("a", "3"))))) == state::acl_not_found);
  CHECK(value_of(c.found(c.get(leader, "a"))) == "1");
  CHECK(c.converged());
}

// Otherwise clients without a token could fill the log, on the disks of all servers.
TEST_CASE("a write that its token does not permit enters no log, whichever server receives it", "[actors][acl]") {
  cluster_fixture c(cluster_with_acls());
  const auto leader = ready(c);
  const auto follower = c.all_but(leader).front();
  set_policy(c, leader, R"(key_prefix "open/" { policy = "write" })", true);
  REQUIRE(c.converged());
  const auto before = c.applied(leader);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(refusal_in(c.written(c.write(i, as("nobody's", set_key("open/a", "1"))))) == state::acl_not_found);
    CHECK(refusal_in(c.written(c.write(i, as("anonymous", set_key("open/a", "1"))))) == state::permission_denied);
  }
  CHECK(c.applied(leader) == before); // the leader's own entries come later

  // A token that this server does not know yet is accepted nevertheless.
  fall_behind(c, follower, [&] {
    state::acl_token_set t;
    t.token.accessor = accessor;
    t.token.secret = secret;
    t.policies = {{policy_id, ""}};
    t.fresh = true;
    must(c, leader, t);
  });
  CHECK(refusal_in(c.written(c.write(follower, as(secret, set_key("open/a", "2"))))) == "");
  CHECK(value_of(c.found(c.read(leader, as(master_secret, get_key("open/a")), consistency::normal))) == "2");
  CHECK(c.converged());
}

// The other servers cannot be reached, so it is unknown whether the token is new.
TEST_CASE("a server that is cut off from the others rejects a write that its token does not permit, with the reason",
          "[actors][acl]") {
  cluster_fixture c(cluster_with_acls());
  const auto leader = ready(c);
  const auto follower = c.all_but(leader).front();
  REQUIRE(c.converged());
  for (const auto other : c.all_but(follower))
    c.crash(other);
  const auto r = c.written(c.write(follower, as("nobody's", set_key("a", "1"))));
  CHECK(r.outcome == wire::call_outcome::refused);
  CHECK(r.text == "No cluster leader");
}

TEST_CASE("a blocking read is authorized again when its permissions change", "[actors][acl]") {
  cluster_fixture c(cluster_with_acls());
  const auto leader = ready(c);
  const auto node = GENERATE(0u, 1u, 2u);
  make_token(c, leader, R"(key "a" { policy = "read" })");
  c.put_done(leader, "a", "1");
  const auto index = index_of(c.found(c.read(node, as(secret, get_key("a")), consistency::normal)));
  const auto parked = c.read(node, as(secret, get_key("a")), consistency::normal, index);
  const auto of_root = c.read(node, as(master_secret, get_key("a")), consistency::normal, index);
  c.pass(seconds(1));
  REQUIRE_FALSE(c.answered(parked));

  SECTION("its token is deleted") {
    delete_token(c, leader);
    c.pass(seconds(1));
    REQUIRE(c.answered(parked));
    CHECK(refusal_in(c.found(parked)) == state::acl_not_found);
  }
  SECTION("its policy no longer names that key") {
    set_policy(c, leader, R"(key "b" { policy = "read" })", false);
    c.pass(seconds(1));
    REQUIRE(c.answered(parked));
    CHECK(refusal_in(c.found(parked)) == state::permission_denied);
  }
  SECTION("its policy still allows it") {
    set_policy(c, leader, R"(key "a" { policy = "write" })", false);
    c.pass(seconds(1));
    CHECK_FALSE(c.answered(parked));
    c.put_done(leader, "a", "2");
    CHECK(value_of(c.found(parked)) == "2");
  }
  if (!c.answered(of_root)) // this does not wake the others
    c.put_done(leader, "a", "3");
  CHECK(refusal_in(c.found(of_root)) == "");
}

// Compiling the rules of many tokens at once would keep others waiting.
TEST_CASE("many blocking reads are authorized again when permissions change, a few at a time", "[actors][acl]") {
  cluster_fixture c(cluster_with_acls());
  const auto leader = ready(c);
  make_token(c, leader, R"(key "a" { policy = "read" })");
  c.put_done(leader, "a", "1");
  const auto index = index_of(c.found(c.read(leader, as(secret, get_key("a")), consistency::normal)));
  std::vector<call> rejected, waiting;
  for (int i = 0; i < 100; ++i) {
    rejected.push_back(c.read(leader, as(secret, get_key("a")), consistency::normal, index));
    waiting.push_back(c.read(leader, as(master_secret, get_key("a")), consistency::normal, index));
  }
  c.pass(seconds(1));
  set_policy(c, leader, R"(key "b" { policy = "read" })", false);
  c.pass(seconds(1));
  for (const auto& id : rejected) {
    REQUIRE(c.answered(id));
    CHECK(refusal_in(c.found(id)) == state::permission_denied);
  }
  for (const auto& id : waiting)
    CHECK_FALSE(c.answered(id));
  c.put_done(leader, "a", "2");
  c.pass(seconds(1));
  for (const auto& id : waiting)
    CHECK(value_of(c.found(id)) == "2");
}

TEST_CASE("an expired token permits nothing, even without a later entry", "[actors][acl]") {
  cluster_fixture c(cluster_with_acls());
  const auto leader = ready(c);
  make_token(c, leader, R"(key "a" { policy = "read" })");
  const auto t = token_of_a_minute();
  must(c, leader, t);
  const auto read = [&] {
    return refusal_in(c.found(c.read(leader, as(t.token.secret, get_key("a")), consistency::normal)));
  };
  CHECK(read() == "");
  c.pass(seconds(50));
  CHECK(read() == "");
  c.pass(seconds(12));
  CHECK(read() == state::acl_not_found);
}

// Nothing is written meanwhile that would wake the query; its own wait would end much later.
TEST_CASE("a waiter with a token is notified when the token expires", "[actors][acl]") {
  cluster_fixture c(cluster_with_acls());
  const auto leader = ready(c);
  const auto node = GENERATE(0u, 1u, 2u);
  make_token(c, leader, R"(key "a" { policy = "read" })");
  c.put_done(leader, "a", "1");
  const auto t = token_of_a_minute();
  must(c, leader, t);
  const auto made = c.now();
  const auto index = index_of(c.found(c.read(node, as(secret, get_key("a")), consistency::normal)));
  const auto wait = [&](const std::string& who, const state::query& q, std::uint64_t known) {
    return c.read(node, as(who, q), consistency::normal, known, seconds(300));
  };
  const auto ends = wait(t.token.secret, get_key("a"), index), stays = wait(secret, get_key("a"), index);
  const auto rights = wait(t.token.secret, state::permissions_read{}, 1000); // as a gateway does for a stream
  c.pass(seconds(58));
  CHECK_FALSE(c.answered(ends));
  REQUIRE(c.until([&] { return c.answered(ends) && c.answered(rights); }, seconds(10)));
  CHECK(c.now() - made < seconds(62));
  CHECK(c.now() - made > seconds(59));
  CHECK(refusal_in(c.found(ends)) == state::acl_not_found);
  CHECK(refusal_in(c.found(rights)) == state::acl_not_found);
  CHECK_FALSE(c.answered(stays));
}

TEST_CASE("sessions are created and destroyed with the permission to write them", "[actors][acl]") {
  cluster_fixture c(cluster_with_acls());
  const auto leader = ready(c);
  c.pass(seconds(2)); // the members are in the catalog
  make_token(c, leader, R"(session "node-0" { policy = "write" })");
  state::session_create make;
  make.session.id = uuid_of(9, 1);
  make.session.node = "node-0";
  CHECK(refusal_in(c.written(c.write(1, as("wrong", state::command(make))))) == state::acl_not_found);
  CHECK(refusal_in(c.written(c.write(1, as(secret, state::command(make))))) == "");
  auto elsewhere = make;
  elsewhere.session.id = uuid_of(9, 2);
  elsewhere.session.node = "node-1";
  CHECK(refusal_in(c.written(c.write(1, as(secret, state::command(elsewhere))))) == state::permission_denied);
  CHECK(refusal_in(c.written(c.write(1, as(master_secret, state::command(elsewhere))))) == "");
  const auto end = [&](const std::string& id) {
    return refusal_in(c.written(c.write(2, as(secret, state::command(state::session_destroy{{id}, "destroyed"})))));
  };
  CHECK(end(elsewhere.session.id) == state::permission_denied);
  CHECK(end(make.session.id) == "");
}

namespace {

/// Begins a restore as a gateway does: when this server has applied everything decided before.
std::string begin_restore(cluster_fixture& c, std::size_t node, const std::string& who) {
  const auto caught_up = refusal_in(c.found(c.read(node, get_key("a"), consistency::consistent)));
  if (!caught_up.empty())
    return caught_up;
  return refusal_in(c.written(c.write(node, as(who, state::command(state::restore_begin{"r", log_index{1}})))));
}

} // namespace

// An archive takes minutes to arrive. A client without the permission must not keep others from
// restoring. One that has it must not be rejected by a server that does not know its token yet.
TEST_CASE("a restore is authorized by tables with all earlier decisions", "[actors][acl]") {
  cluster_fixture c(cluster_with_acls());
  const auto leader = ready(c);
  const auto behind = c.all_but(leader).front();
  const auto at = GENERATE(true, false) ? leader : behind;
  SECTION("a token that the server does not know yet") {
    fall_behind(c, behind, [&] { make_token(c, leader, "acl = \"write\""); });
    CHECK(begin_restore(c, at, secret) == "");
  }
  SECTION("a token that was deleted, and the server does not know it yet") {
    make_token(c, leader, "acl = \"write\"");
    c.pass(seconds(1));
    fall_behind(c, behind, [&] { delete_token(c, leader); });
    CHECK(begin_restore(c, at, secret) == state::acl_not_found);
    CHECK(begin_restore(c, at, master_secret) == ""); // nothing is in its way
  }
  SECTION("a token that has lost the permission") {
    make_token(c, leader, "acl = \"write\"");
    fall_behind(c, behind, [&] { set_policy(c, leader, "acl = \"read\"", false); });
    CHECK(begin_restore(c, at, secret) == state::permission_denied);
    CHECK(begin_restore(c, at, master_secret) == "");
  }
  CHECK(c.converged());
}

// After a restart the leader does not know the level of a member that is down. Its own tables show
// that no server below that level can be a member.
TEST_CASE("claims with a scope show the level that all members have", "[levels]") {
  state::claims_driver d;
  const auto session = d.open(10);
  CHECK(level_in_tables(d.m) == 0);
  const auto ask = [&](const char* name, std::optional<std::string> address) {
    state::claim_ask claim;
    claim.name = name;
    claim.session = session;
    state::command c = claim;
    c.client_address = std::move(address);
    d.apply(c);
  };
  ask("without", std::nullopt);
  CHECK(level_in_tables(d.m) == state::claims_level);
  ask("with", "192.0.2.1");
  CHECK(level_in_tables(d.m) == state::client_address_level);
}

// Ends of claims are forgotten after ten minutes. Other rows stay, and so do their rules: without
// the level, the next session would end with operations that no server authorizes again.
TEST_CASE("guards, limits and sessions of clients show the level that all members have", "[levels]") {
  state::acl_driver d;
  d.add_node("n");
  const auto level_after = [&](state::command c, bool addressed) {
    c.by = d.by(state::management_secret);
    if (addressed)
      c.client_address = "192.0.2.1";
    d.apply(c);
    return level_in_tables(d.m);
  };
  CHECK(level_after(state::claim_limit_set{"s", 5}, true) == state::claims_level);
  SECTION("a guard") {
    CHECK(level_after(state::guard_set{"a/", {"lock"}}, false) == state::claims_level);
    CHECK(level_after(state::guard_set{"b/", {"lock"}}, true) == state::client_address_level);
  }
  SECTION("a limit that any client may set") {
    state::claim_ask claim; // without one the resource is forgotten
    claim.name = "s";
    claim.session = d.open(10);
    CHECK(level_after(claim, false) == state::claims_level);
    CHECK(level_after(state::claim_limit_unset{"s"}, true) == state::client_address_level);
  }
  SECTION("a session with operations at its end") {
    state::session_begin begin;
    begin.session.node = "n";
    begin.on_end = {state::op_on(state::kv_verb::set, "left")};
    begin.session.id = state::uuid(10);
    CHECK(level_after(begin, false) == state::claims_level);
    begin.session.id = state::uuid(11);
    CHECK(level_after(begin, true) == state::client_address_level);
  }
}

// The tables' level comes from the snapshot; no entry here states it. A server of an older version
// that returns would stop at the earlier entries: it must not disable ACLs for all others.
TEST_CASE("a server that learned of ACLs from a snapshot leads like one that applied the entries",
          "[actors][acl][levels]") {
  auto o = cluster_with_acls();
  o.machine.checkpoints.entries = 40;
  o.peer.trailing_entries = 10;
  cluster_fixture c(std::move(o));
  const auto first = ready(c);
  const auto others = c.all_but(first);
  const auto next = others[0], old = others[1];
  for (int i = 0; i < 100; ++i)
    c.put_done(first, "k", std::to_string(i));
  c.pass(seconds(1));
  REQUIRE(c.log(first).kept().entries.front().index.value > 10);
  c.crash(next);
  c.wipe(next);
  c.start(next);
  REQUIRE(c.until([&] { return c.view(first).config.is_voter(c.id_of(next)) && !c.view(first).config.joint(); }));
  REQUIRE(c.checkpoints(next).installed() >= 1);

  // The third one has a shorter log, so it cannot win.
  c.net().partition({{old}, {first, next}});
  c.put_done(first, "last", "1");
  c.pass(seconds(1));
  c.crash(first);
  c.net().heal();
  REQUIRE(c.leader({next, old}) == next);
  c.net().inject(old, next, wire::hello{c.member(old), "dc1", c.cluster_id(old), 3, {}, 0});
  c.settle();
  set_policy(c, next, "acl = \"write\"", true);
}
