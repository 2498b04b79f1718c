#include "protocol/state/command_level.hpp"
#include "tests/unit/protocol/state/claims/claims_driver.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::state;

namespace {

const resource_name claim_n{"n", claim_space::claims};
const resource_name lock_k{"g/k", claim_space::keys};

std::string guards(claims_driver& d, const std::string& prefix, const resource_name& by = claim_n) {
  return claims_driver::response(d.apply(guard_set{prefix, by}));
}

} // namespace

// docs/reference/claims.md, rule 34: at most 1,000 write guards, which may not overlap.
TEST_CASE("guards are set and removed") {
  claims_driver d;
  CHECK(guards(d, "") == "parameter prefix");
  CHECK(guards(d, "g/") == "true");
  CHECK(std::holds_alternative<guards_changed>(d.changed.back()));
  CHECK(guards(d, "g/") == "true"); // the same guard again
  CHECK(guards(d, "g/", lock_k) == "overlap");
  CHECK(guards(d, "g/x") == "overlap");
  CHECK(guards(d, "g") == "overlap");
  CHECK(guards(d, "h/", {"g/lock", claim_space::keys}) ==
        "overlap"); // its lock could only be acquired through the other guard
  CHECK(guards(d, "i/", {"j/lock", claim_space::keys}) == "true");
  CHECK(guards(d, "j/") == "overlap");
  CHECK(claims_driver::response(d.apply(guard_remove{"g/", 5})) == "fence");
  const auto s = d.open(1);
  d.asks("n", s);
  CHECK(claims_driver::response(d.apply(guard_remove{"g/", d.fence("n", s)})) == "true");
  CHECK(claims_driver::response(d.apply(guard_remove{"g/", 0})) == "true"); // there is none
  CHECK(claims_driver::response(d.apply(guard_remove{"i/", 0})) == "true"); // with an operator's permission
  for (std::uint64_t i = 0; i < guards_max; ++i)
    guards(d, "p" + std::to_string(i) + "/");
  CHECK(guards(d, "q/") == "guards-full");
  CHECK(std::get<guard_rows>(d.m.evaluate(guards_list{}).data).list.size() == guards_max);
}

// Rule 34: "every write below it needs the fence". Rule 35: "without a holder, no request".
TEST_CASE("every path on which a key is written: table") {
  struct row {
    const char* name;
    kv_op op;
    bool meets;
  };
  claims_driver d;
  const auto s = d.open(1), other = d.open(2);
  d.set("g/a", "v");
  d.set("g/locked", "v");
  d.acquire("g/locked", s);
  CHECK(guards(d, "g/") == "true");
  const row rows[] = {
      {"set", op_on(kv_verb::set, "g/new"), true},
      {"cas", op_on(kv_verb::cas, "g/a", "v", d.get("g/a")->modify_index.value), true},
      {"lock", op_on(kv_verb::lock, "g/a", "v", 0, s), true},
      {"unlock", op_on(kv_verb::unlock, "g/locked", "v", 0, s), true},
      {"delete", op_on(kv_verb::remove, "g/a"), true},
      {"delete-cas", op_on(kv_verb::remove_cas, "g/a", "v", 1), true},
      {"delete-tree of it", op_on(kv_verb::remove_tree, "g/"), true},
      {"delete-tree below it", op_on(kv_verb::remove_tree, "g/a"), true},
      {"delete-tree above it", op_on(kv_verb::remove_tree, ""), true},
      {"delete-tree beside it", op_on(kv_verb::remove_tree, "h"), false},
      {"set beside it", op_on(kv_verb::set, "g"), false},
  };
  const auto before = d.get("g/a");
  for (const auto& r : rows) {
    INFO(r.name);
    CHECK((claims_driver::response(d.apply(kv_write{r.op})) == "guarded") == r.meets);
    txn t;
    t.ops.emplace_back(r.op);
    CHECK((claims_driver::response(d.apply(t)).find("is guarded by claim \"n\"") != std::string::npos) == r.meets);
    CHECK((claims_driver::response(d.apply(fenced_write{r.op, {claim_n, 9}})) == "fence"));
  }
  kv_acquire waits{op_on(kv_verb::lock, "g/locked", "v", 0, other), 1000, false, std::nullopt};
  CHECK(claims_driver::response(d.apply(waits)) == "guarded");
  CHECK(d.get("g/a") == before);
  // With the fencing token.
  d.asks("n", s);
  const fence_ref fence{claim_n, d.fence("n", s)};
  CHECK(d.fenced_set("g/new", fence.of, fence.fence) == "true");
  CHECK(d.fenced_set("g/new", fence.of, fence.fence + 1) == "fence");
  CHECK(d.fenced_set("free", fence.of, fence.fence) == "true"); // checked even where there is no guard
  CHECK(d.fenced_set("free", fence.of, fence.fence - 1) == "fence");
  waits.fence = fence;
  CHECK(claims_driver::response(d.apply(waits)) == "waiting 1");
  fenced_txn t;
  t.body.ops = {op_on(kv_verb::set, "g/a"), fence_op{fence}};
  CHECK(claims_driver::response(d.apply(t)) == "key \"g/a\" is guarded by claim \"n\""); // the check is after the write
  t.body.ops = {fence_op{fence}, op_on(kv_verb::set, "g/a"), op_on(kv_verb::remove_tree, "g/")};
  CHECK(claims_driver::response(d.apply(t)) == "done");
  t.body.ops = {fence_op{{claim_n, 1}}, op_on(kv_verb::set, "free")};
  CHECK(claims_driver::response(d.apply(t)) == "fence 1 of claim \"n\" is not valid");
  CHECK(d.sound());
}

TEST_CASE("a recursive delete checks the guards below it") {
  CHECK(detects_mutant("guard_below_tree_ignored", [] {
    claims_driver d;
    d.set("g/a", "v");
    guards(d, "g/");
    return claims_driver::response(d.apply(kv_write{op_on(kv_verb::remove_tree, "")})) == "guarded" && d.get("g/a");
  }));
}

// Rule 35: "The exclusive holder passes; any holder of a semaphore; never a shared one".
TEST_CASE("which fencing token a guard accepts") {
  claims_driver d;
  const auto a = d.open(1), b = d.open(2);
  guards(d, "g/");
  d.asks("n", a, "a", permits(1, 2));
  d.asks("n", b, "b", permits(1));
  CHECK(d.fenced_set("g/x", claim_n, d.fence("n", "a")) == "true");
  CHECK(d.fenced_set("g/x", claim_n, d.fence("n", "b")) == "true");
  d.drops("n", "a");
  d.drops("n", "b");
  d.asks("n", a, "w", writer());
  CHECK(d.fenced_set("g/x", claim_n, d.fence("n", "w")) == "true");
  d.apply(claim_mode_set{"n", "w", claim_mode::shared});
  CHECK(d.fenced_set("g/x", claim_n, d.fence("n", "w")) == "fence");
  const auto closed_to_readers = [&d] { return d.fenced_set("g/x", claim_n, d.fence("n", "w")) == "fence"; };
  CHECK(detects_mutant("guard_lets_readers_pass", closed_to_readers));
}

// Rule 36: "If the guarding key lies below the prefix, its acquire and release pass."
TEST_CASE("a guarding lock below its own guard") {
  claims_driver d;
  const auto a = d.open(1), b = d.open(2);
  CHECK(guards(d, "g/", lock_k) == "true");
  CHECK(d.acquire("g/k", a));
  CHECK(d.queues("g/k", b) == "waiting 1");
  CHECK(claims_driver::response(d.write(kv_verb::set, "g/k", "x")) == "guarded");
  CHECK(d.fenced_set("g/x", lock_k, d.get("g/k")->fence) == "true");
  const auto stale = d.get("g/k")->fence;
  CHECK(d.release("g/k", a));
  CHECK(d.get("g/k")->session == b);
  CHECK(d.fenced_set("g/x", lock_k, stale) == "fence");
}

// A guarded key was written by the grant of an acquire that named no fence, or an outdated one.
TEST_CASE("the grant of a waiting acquire needs what the guard needs") {
  enum class sequence { claim_lost, guard_set_later };
  // Entries below feature level 8 name no client, and are decided as in 0.2.0.
  for (const std::string client : {"192.0.2.1", ""})
    for (const auto each : {sequence::claim_lost, sequence::guard_set_later}) {
      INFO(client << static_cast<int>(each));
      claims_driver d;
      const auto sent = [&](command c) {
        if (!client.empty() && has_client(c))
          c.client_address = client;
        return claims_driver::response(d.apply(std::move(c)));
      };
      const auto holder = d.open(1), waiting = d.open(2), later = d.open(3);
      const auto claims = [&](const std::string& session) {
        claim_ask c;
        c.name = "n";
        c.session = session;
        return sent(c);
      };
      d.acquire("g/x", holder, "holder");
      kv_acquire waits{op_on(kv_verb::lock, "g/x", "waiting", 0, waiting), 60'000, false, std::nullopt};
      if (each == sequence::claim_lost) {
        guards(d, "g/");
        CHECK(claims(waiting) == "held");
        waits.fence = fence_ref{claim_n, d.fence("n", waiting)};
        CHECK(sent(waits) == "waiting 1");
        sent(claim_release{"n", waiting});
      } else {
        CHECK(sent(waits) == "waiting 1");
        guards(d, "g/");
      }
      CHECK(claims(later) == "held");
      const fence_ref fence{claim_n, d.fence("n", later)};
      CHECK(sent(fenced_write{op_on(kv_verb::unlock, "g/x", "holder", 0, holder), fence}) == "true");
      CHECK(d.waiters("g/x", claim_space::keys).empty());
      CHECK((d.get("g/x")->session == waiting) == client.empty());
      CHECK(std::string(*d.get("g/x")->value) == (client.empty() ? "waiting" : "holder"));
      const auto ended = std::get<claim_standing>(d.m.evaluate(claim_status{{"g/x", claim_space::keys}, waiting}).data);
      CHECK((ended.ended != nullptr) != client.empty());
      if (ended.ended) {
        CHECK(ended.ended->why == claim_end::withdrawn);
        CHECK(ended.ended->cause == "guarded");
      }
      CHECK(d.sound());
    }
}

TEST_CASE("who waits for the lock of a guarded key") {
  claims_driver d;
  const auto sent = [&](command c) {
    c.client_address = "192.0.2.1";
    return claims_driver::response(d.apply(std::move(c)));
  };
  const auto holder = d.open(1), leader = d.open(2), other = d.open(3);
  d.asks("n", leader);
  d.acquire("g/x", holder);
  guards(d, "g/");
  const fence_ref fence{claim_n, d.fence("n", leader)};
  const auto waits = [&](const std::string& session, const std::string& key = "g/x") {
    return sent(kv_acquire{op_on(kv_verb::lock, key, "v", 0, session), 60'000, false, fence});
  };
  CHECK(waits(other) == "guarded"); // the fence is another session's
  CHECK(waits(other, "g/free") == "true");
  CHECK(waits(leader) == "waiting 1");
  CHECK(waits(leader) == "waiting 1");
  // Behind a waiter that leaves.
  d.apply(guard_remove{"g/", 0});
  CHECK(sent(kv_acquire{op_on(kv_verb::lock, "g/x", "v", 0, other), 60'000, false, std::nullopt}) == "waiting 2");
  d.drops("n", leader);
  d.asks("n", other);
  guards(d, "g/");
  CHECK(claims_driver::response(d.apply(
            fenced_write{op_on(kv_verb::unlock, "g/x", "v", 0, holder), {claim_n, d.fence("n", other)}})) == "true");
  CHECK(d.get("g/x")->session == other);
  CHECK(d.waiters("g/x", claim_space::keys).empty());
  CHECK(d.sound());
}

// Rule 37: "Writes that the end of a session causes pass." Rule 18: with "rights and fences".
TEST_CASE("what the end of a session does under a guard") {
  claims_driver d;
  d.add_node("n");
  session_begin c;
  c.session.id = uuid(1);
  c.session.node = "n";
  c.session.behavior = session_behavior::remove;
  c.on_end = {op_on(kv_verb::set, "g/bye")};
  d.apply(c);
  c.session.id = uuid(2);
  c.on_end = {op_on(kv_verb::set, "g/never")};
  d.apply(c);
  d.acquire("g/mine", uuid(1));
  guards(d, "g/");
  d.asks("n", uuid(1));
  d.close(uuid(2));
  CHECK_FALSE(d.get("g/never"));
  d.close(uuid(1));
  CHECK(d.get("g/bye")); // it still held the claim
  CHECK_FALSE(d.get("g/mine"));
}

// Situation: a tenant sets write guards without end, from one address or token. Event: another
// client sets a guard. It would be refused by a full table (audit of November 2026, B14).
TEST_CASE("a client that keeps setting guards does not prevent others from setting theirs", "[B14]") {
  claims_driver d;
  const auto guards_from = [&](const std::string& client, const std::string& prefix) {
    command c = guard_set{prefix, claim_n};
    c.client_address = client;
    return claims_driver::response(d.apply(std::move(c)));
  };
  for (std::uint64_t i = 0; i < guards_max; ++i) // a single client may have as many as before
    REQUIRE(guards_from("a", "a" + std::to_string(i) + "/") == "true");
  const auto refused = [&] { return guards_from("a", "more/") == "guards-full"; };
  CHECK(refused());
  CHECK(detects_mutant("guards_without_share", refused));
  d.apply(guard_remove{"more/", 0});        // set by the mutant
  CHECK(guards_from("a", "a0/") == "true"); // it exists
  for (int client = 0; client < 9; ++client)
    for (std::uint64_t i = 0; i < guards_share; ++i)
      REQUIRE(guards_from("b" + std::to_string(client), "b" + std::to_string(client) + "/" + std::to_string(i) + "/") ==
              "true");
  CHECK(guards_from("a", "again/") == "guards-full");
  const auto all = [&] { return std::get<guard_rows>(d.m.evaluate(guards_list{}).data).list.size(); };
  for (std::uint64_t i = 0; all() < client_guards_max && i < client_guards_max; ++i)
    guards_from("c" + std::to_string(i), "c" + std::to_string(i) + "/");
  CHECK(all() == client_guards_max);
  CHECK(guards_from("new", "new/") == "guards-full");
  command removed = guard_remove{"a0/", 0};
  CHECK(claims_driver::response(d.apply(removed)) == "true");
  CHECK(guards_from("new", "new/") == "true");
}

// Entries below feature level 8 name no client, and are decided as in 0.2.0.
TEST_CASE("guards of entries that name no client are bounded as in 0.2.0", "[B14]") {
  claims_driver d;
  for (std::uint64_t i = 0; i < guards_max; ++i)
    REQUIRE(guards(d, "p" + std::to_string(i) + "/") == "true");
  CHECK(guards(d, "q/") == "guards-full");
  command named = guard_set{"q/", claim_n};
  CHECK(level_of(named) == claims_level);
  named.client_address = "10.0.0.1";
  CHECK(level_of(named) == client_address_level);
  CHECK(claims_driver::response(d.apply(named)) == "true");
}
