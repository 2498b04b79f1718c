// A token or a policy is deleted, and a request that was made with it has not taken effect yet. It
// is an acquire or claim in a queue, or the OnEnd of a session. The client got a 403, so it must
// not take effect later. And what is rejected, or changes nothing, must not reach the log.

#include "protocol/state/command_level.hpp"
#include "tests/unit/protocol/state/acl/acl_driver.hpp"
#include "tests/unit/protocol/state/claims/claims_driver.hpp"

using namespace belay;
using namespace belay::state;

namespace {

constexpr auto all_keys = R"(key_prefix "" { policy = "write" } session_prefix "" { policy = "write" })";

class later_driver : public acl_driver {
public:
  /// Adds the fields that servers of level 8 write.
  reply asks(const std::string& secret, command c) {
    c.by = by(secret);
    c.client_address = "192.0.2.1";
    return apply(c);
  }
  bool waits(const resource_name& of, const std::string& id) const { return m.waits({of, id}); }
  claim_standing standing(const resource_name& of, const std::string& id) const {
    return std::get<claim_standing>(m.evaluate(claim_status{of, id}).data);
  }
  /// Removes the rules of the token's only policy.
  void disallow(const std::string& secret) {
    const auto policies = token_of(accessor_of(secret))->policies;
    apply(acl_policy_delete{policies.front()});
  }
  void forget(const std::string& secret) { apply(acl_token_delete{accessor_of(secret)}); }
};

claim_ask claim_of(const std::string& name, const std::string& session, claim_kind kind = claim_kind::lock) {
  claim_ask c;
  c.name = name;
  c.session = session;
  c.kind = kind;
  return c;
}
kv_acquire acquire_of(const std::string& key, const std::string& session) {
  kv_acquire c;
  c.op = op_on(kv_verb::lock, key, "mine", 0, session);
  c.wait_ms = 600'000;
  return c;
}
session_begin leaving(int n, std::vector<kv_op> on_end) {
  session_begin c;
  c.session.id = uuid(n);
  c.session.node = "n";
  c.on_end = std::move(on_end);
  return c;
}

enum class how { token_deleted, policy_deleted, token_over };
constexpr how all_ways[] = {how::token_deleted, how::policy_deleted, how::token_over};

/// A token for that way; for how::token_over one that expires soon.
std::string token_for(later_driver& d, how way) {
  return d.token(all_keys, way == how::token_over ? 5'000 : 0);
}
void take_away(later_driver& d, how way, const std::string& secret) {
  if (way == how::token_deleted)
    d.forget(secret);
  else if (way == how::policy_deleted)
    d.disallow(secret);
  else {
    d.pass(5'000);
    d.apply(claims_alarm{d.now});
  }
}

const resource_name claim_x{"x", claim_space::claims}, lock_x{"x", claim_space::keys};

} // namespace

TEST_CASE("a wait with a token leaves its queue when the token's permission ends", "[B15]") {
  for (const auto way : all_ways) {
    later_driver d;
    const auto holder = d.open(10), revoked = d.open(11), next = d.open(12);
    const auto secret = token_for(d, way), other = d.token(all_keys);
    d.asks(other, claim_of("x", holder));
    d.asks(other, acquire_of("x", holder));
    for (const auto& [who, session] : {std::pair(secret, revoked), std::pair(other, next)}) {
      d.asks(who, claim_of("x", session));
      d.asks(who, acquire_of("x", session));
    }
    REQUIRE(d.waits(claim_x, revoked));
    REQUIRE(d.waits(lock_x, revoked));
    take_away(d, way, secret);
    for (const auto& of : {claim_x, lock_x}) {
      CHECK_FALSE(d.waits(of, revoked));
      REQUIRE(d.standing(of, revoked).ended);
      CHECK(d.standing(of, revoked).ended->why == claim_end::withdrawn);
      CHECK(d.waits(of, next));
    }
    d.asks(other, claim_release{"x", holder});
    d.release("x", holder);
    CHECK(d.standing(claim_x, next).live->state == claim_state::held);
    CHECK(d.get("x")->session == next);
    CHECK(d.m.digest() == d.m.recompute_digest());
  }
}

// More waiters than one entry re-authorizes: the others are checked when they become first.
TEST_CASE("a waiter beyond those that are authorized at once is not granted either", "[B15]") {
  const auto granted = [] {
    later_driver d;
    const auto secret = d.token(all_keys), other = d.token(all_keys);
    const auto holder = d.open(1), revoked = d.open(2), next = d.open(3);
    for (int i = 0; i < 1'100; ++i) {
      const auto s = d.open(1'000 + i);
      d.asks(other, claim_of("a" + std::to_string(i), s));
    }
    d.asks(other, claim_of("x", holder));
    d.asks(secret, claim_of("x", revoked));
    d.asks(other, claim_of("x", next));
    d.forget(secret);
    CHECK(d.waits(claim_x, revoked));
    // Nor by a transfer, which skips it.
    CHECK(std::holds_alternative<claim_refusal>(d.asks(other, claim_transfer{"x", holder, revoked})));
    const auto r = d.asks(other, claim_transfer{"x", holder, {}});
    return std::holds_alternative<claim_answer>(r) && d.standing(claim_x, next).live->state == claim_state::held &&
           !d.standing(claim_x, revoked).live;
  };
  CHECK(granted());
}

TEST_CASE("mutant: waiter_outlives_token") {
  CHECK(detects_mutant("waiter_outlives_token", [] {
    later_driver d;
    const auto holder = d.open(1), revoked = d.open(2);
    const auto secret = d.token(all_keys), other = d.token(all_keys);
    d.asks(other, claim_of("x", holder));
    d.asks(secret, claim_of("x", revoked));
    d.forget(secret);
    d.asks(other, claim_release{"x", holder});
    return !d.standing(claim_x, revoked).live;
  }));
}

// A client whose token is replaced retries with the new one, and keeps its position.
TEST_CASE("the newest request of a waiter counts, and one without a token is anonymous", "[B15]") {
  later_driver d;
  const auto holder = d.open(1), rotated = d.open(2);
  const auto old = d.token(all_keys), fresh = d.token(all_keys);
  d.asks(fresh, claim_of("x", holder));
  d.asks(fresh, acquire_of("x", holder));
  for (const auto& who : {old, fresh}) {
    d.asks(who, claim_of("x", rotated));
    d.asks(who, acquire_of("x", rotated));
  }
  d.forget(old);
  CHECK(d.waits(claim_x, rotated));
  CHECK(d.waits(lock_x, rotated));
  d.forget(fresh);
  CHECK_FALSE(d.waits(claim_x, rotated));
  CHECK_FALSE(d.waits(lock_x, rotated));
  // If the default policy allows it, a token without rules is permitted, and so is a request
  // without a token.
  d.allowed_by_default = true;
  const auto bare = d.open(3);
  d.asks("anonymous", claim_of("x", bare));
  d.forget(d.token(""));
  CHECK(d.waits(claim_x, bare));
}

// Entries of servers that do not name their clients are decided as in 0.2.0 at each replay.
TEST_CASE("waiters of entries below level 8 are granted as before") {
  later_driver d;
  const auto holder = d.open(1), waiter = d.open(2);
  const auto secret = d.token(all_keys);
  d.apply(claim_of("x", holder));
  d.apply_as(secret, claim_of("x", waiter));
  d.forget(secret);
  d.apply(claim_release{"x", holder});
  CHECK(d.standing(claim_x, waiter).live->state == claim_state::held);
}

TEST_CASE("OnEnd is authorized again when the session ends", "[B23]") {
  const auto set = op_on(kv_verb::set, "left", "by the session");
  for (const auto way : all_ways) {
    later_driver d;
    d.open(1);
    const auto secret = token_for(d, way);
    d.asks(secret, leaving(20, {set}));
    take_away(d, way, secret);
    d.close(uuid(20));
    CHECK(d.get("left") == nullptr);
    const auto ended = std::get<ended_session_rows>(d.m.evaluate(session_ended{uuid(20)}).data).list;
    REQUIRE(ended.size() == 1);
    CHECK(ended.front()->on_end_refused == 1);
    CHECK(ended.front()->on_end_done == 0);
  }
}

TEST_CASE("OnEnd does what its token still permits, each operation by itself; without a token all of it", "[B23]") {
  later_driver d;
  d.open(1);
  d.set("t/1");
  const auto secret = d.token(all_keys);
  const auto ops = {op_on(kv_verb::set, "a"), op_on(kv_verb::set, "b"), op_on(kv_verb::remove_tree, "t/")};
  d.asks(secret, leaving(20, ops));
  auto policy = *std::get<acl_policy_ptr>(
      std::get<acl_rows>(d.m.evaluate(acl_policy_read{{d.token_of(d.accessor_of(secret))->policies.front(), {}}}).data)
          .list.front()
          .row);
  policy.rules = R"(key "a" { policy = "write" })";
  d.apply(acl_policy_set{policy});
  d.close(uuid(20));
  CHECK(d.get("a") != nullptr);
  CHECK(d.get("b") == nullptr);
  CHECK(d.get("t/1") != nullptr);
  d.apply_as(d.token(all_keys), leaving(21, {op_on(kv_verb::set, "c")})); // below level 8
  d.apply(leaving(22, {op_on(kv_verb::set, "d")}));
  d.close(uuid(21));
  d.close(uuid(22));
  CHECK(d.get("c") != nullptr);
  CHECK(d.get("d") != nullptr);
}

TEST_CASE("mutant: on_end_outlives_token") {
  CHECK(detects_mutant("on_end_outlives_token", [] {
    later_driver d;
    d.open(1);
    const auto secret = d.token(all_keys);
    d.asks(secret, leaving(20, {op_on(kv_verb::set, "left")}));
    d.forget(secret);
    d.close(uuid(20));
    return d.get("left") == nullptr;
  }));
}

TEST_CASE("rows that name their requester need level 8", "[B15][B23]") {
  later_driver d;
  const auto holder = d.open(1);
  const auto secret = d.token(all_keys);
  const auto count_of_level_8 = [&] {
    std::size_t n = 0;
    for (const auto& row : d.m.all_rows())
      if (level_of(row) == client_address_level)
        ++n;
    return n;
  };
  d.apply_as(secret, leaving(20, {op_on(kv_verb::set, "k")}));
  CHECK(count_of_level_8() == 0);
  d.asks(secret, leaving(21, {op_on(kv_verb::set, "k")}));
  CHECK(count_of_level_8() == 1);
  d.asks(secret, claim_of("x", holder));
  CHECK(count_of_level_8() == 2);
}

// ---- rejected commands do not reach the log (all: tests/round_trip/refused_commands_test.cpp)

TEST_CASE("a command that changes nothing is answered like an entry", "[B16]") {
  later_driver d;
  const auto live = d.open(1);
  const auto received = [&](command c, const std::string& secret = {}) {
    if (!secret.empty())
      c.by = d.by(secret);
    const auto early = d.m.refuses(c, d.now);
    return early ? claims_driver::response(*early) : "proposed";
  };
  CHECK(received(session_destroy{{uuid(99)}, ""}) == "true");
  CHECK(received(session_destroy{{uuid(99)}, ""}, "anonymous") == "true"); // as in Consul
  CHECK(received(session_destroy{{live}, ""}) == "proposed");
  CHECK(received(session_destroy{{uuid(99), live}, ""}) == "proposed");
  CHECK(received(session_destroy{{"no id"}, ""}) == "proposed"); // refuse_early() has the text
  const auto writer = d.token(R"(key "k" { policy = "write" })");
  CHECK(received(outcome_seal{"key", {}}, writer) == "proposed");
  for (const auto& nobody : {std::string("anonymous"), d.token("")}) {
    CHECK(received(outcome_seal{"key", {}}, nobody) == "Permission denied");
    command unknown = session_destroy{{uuid(99)}, ""};
    unknown.once = once_request{"key", {}, d.now};
    CHECK(received(unknown, nobody) == "Permission denied");
  }
  d.allowed_by_default = true;
  CHECK(received(outcome_seal{"key", {}}, "anonymous") == "proposed");
}

TEST_CASE("acl/bootstrap that was done is refused before the log, with the text of an entry", "[B16]") {
  driver d;
  d.apply(acl_initialize{{}, uuid(1), 1'000});
  acl_bootstrap c;
  c.accessor = uuid(50);
  c.secret = uuid(51);
  c.time_ns = 7;
  CHECK_FALSE(d.m.refuses(c, d.now));
  d.apply(c);
  CHECK_FALSE(d.m.refuses(c, d.now)); // a repeat is answered with the token
  c.secret = uuid(52);
  for (const auto reset : {log_index{}, log_index{1}}) {
    c.reset_index = reset;
    const auto early = d.m.refuses(c, d.now);
    REQUIRE(early);
    CHECK(d.refused(*early) == d.refused(d.apply(c)));
    CHECK_FALSE(d.refused(*early).empty());
  }
  c.reset_index = d.index(); // named by acl-bootstrap-reset
  CHECK(d.m.refuses(c, d.now));
}

// ---- what a transaction with writes reveals

namespace {

std::vector<std::string> errors_of(const std::optional<reply>& r) {
  std::vector<std::string> all;
  if (const auto* t = r ? std::get_if<txn_reply>(&*r) : nullptr)
    for (const auto& e : t->errors)
      all.push_back(std::to_string(e.op_index) + " " + e.what);
  return all;
}

} // namespace

TEST_CASE("a listing in a transaction that writes needs list, if the configuration requires it", "[B21]") {
  later_driver d;
  const auto received = [&](const std::string& rules, bool lists_need_permission) {
    command c = txn{{op_on(kv_verb::set, "a/1"), op_on(kv_verb::get_tree, "a/")}};
    c.by = d.by(d.token(rules));
    c.lists_need_permission = lists_need_permission;
    return errors_of(d.m.refuses(c, d.now));
  };
  const auto exact = R"(key "a/1" { policy = "write" } key_prefix "a/" { policy = "read" })";
  CHECK(received(exact, true) == std::vector<std::string>{"1 Permission denied"});
  CHECK(received(exact, false).empty());
  CHECK(received(R"(key_prefix "a/" { policy = "write" })", true).empty());
}

// B23: a stored response is shown only to a token that exists.
TEST_CASE("a kept answer is shown to a token as long as it exists", "[B23]") {
  for (const auto way : {how::token_deleted, how::token_over}) {
    later_driver d;
    const auto secret = token_for(d, way);
    command c = kv_write{op_on(kv_verb::set, "k")};
    c.by = d.by(secret);
    c.once = once_request{"key", {}, d.now};
    REQUIRE(std::get<bool>(d.apply(c)));
    CHECK(d.read<outcome_view>(secret, outcome_read{"key"}).row != nullptr);
    CHECK(d.apply(c).decided_at != log_index{});
    take_away(d, way, secret);
    CHECK(d.refused_read(secret, outcome_read{"key"}) == "ACL not found");
    REQUIRE(d.m.refuses(c, d.now));
    CHECK(d.refused(*d.m.refuses(c, d.now)) == "ACL not found");
    CHECK(d.refused(d.apply(c)) == "ACL not found");
  }
}

// The leader omits the address while it does not know the level of a member. A server that expects
// to find the waiter stops at this entry, at each start again.
TEST_CASE("a waiter whose permission ends with the entry that asks again learns that its wait has ended", "[B15]") {
  later_driver d;
  const auto holder = d.open(10), waiter = d.open(11);
  const auto over = d.token(all_keys, 5'000), other = d.token(all_keys);
  d.asks(other, acquire_of("x", holder));
  d.asks(over, acquire_of("x", waiter));
  REQUIRE(d.waits(lock_x, waiter));
  d.pass(6'000); // no entry in this time
  command again = acquire_of("x", waiter);
  again.by = d.by(other);
  CHECK(std::holds_alternative<claim_refusal>(d.apply(again)));
  CHECK_FALSE(d.waits(lock_x, waiter));
}
