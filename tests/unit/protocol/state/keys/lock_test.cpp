#include "tests/unit/protocol/state/driver.hpp"

#include <catch2/catch.hpp>

using namespace belay;
using namespace belay::state;

TEST_CASE("acquire table") {
  struct row {
    const char* name;
    const char* state; // state of the key before: missing, free, own, other
    bool granted;
    std::uint64_t lock_index;
  };
  const row rows[] = {
      {"missing key is made", "missing", true, 1},
      {"unlocked key counts a new holder", "free", true, 2},
      {"own lock: no new holder", "own", true, 1},
      {"other's lock", "other", false, 1},
  };
  for (const auto& r : rows) {
    INFO(r.name);
    driver d;
    const auto s1 = d.open(1), s2 = d.open(2);
    const std::string before = r.state;
    if (before == "free") {
      d.acquire("k", s2);
      d.release("k", s2);
    } else if (before == "own")
      d.acquire("k", s1);
    else if (before == "other")
      d.acquire("k", s2);
    CHECK(d.acquire("k", s1, "new") == r.granted);
    CHECK(d.get("k")->lock_index == r.lock_index);
    CHECK(d.get("k")->session == (r.granted ? s1 : s2));
    CHECK(*d.get("k")->value == (r.granted ? "new" : "v"));
  }
}

TEST_CASE("acquire errors, in the order of the contract") {
  driver d;
  CHECK(d.refused(d.write(kv_verb::lock, "k")) == "missing session");
  CHECK(d.refused(d.write(kv_verb::lock, "k", "", 0, 0, "abc")) ==
        "failed session lookup: index error: UUID must be 36 characters");
  CHECK(d.refused(d.write(kv_verb::lock, "k", "", 0, 0, uuid(5))) == "invalid session \"" + uuid(5) + "\"");
  CHECK(d.get("k") == nullptr);
}

TEST_CASE("re-acquire writes only differences (C8)") {
  driver d;
  const auto s = d.open(1);
  d.acquire("k", s, "a");
  const auto first = d.index();
  CHECK(d.acquire("k", s, "a"));
  CHECK(d.changed.empty());
  CHECK(d.get("k")->modify_index == first);
  CHECK(d.acquire("k", s, "b"));
  CHECK(d.get("k")->modify_index == d.index());
  CHECK(d.get("k")->lock_index == 1);
}

TEST_CASE("release table: only the holder, and the request's value replaces the stored one") {
  driver d;
  const auto s1 = d.open(1);
  CHECK_FALSE(d.release("k", s1)); // missing key
  d.set("k", "plain");
  CHECK_FALSE(d.release("k", s1)); // unlocked
  CHECK(d.get("k")->modify_index == log_index{4});
  CHECK(*d.get("k")->value == "plain");
}

TEST_CASE("release by the holder") {
  driver d;
  const auto s1 = d.open(1), s2 = d.open(2);
  d.acquire("k", s1, "held");
  CHECK_FALSE(d.release("k", s2, "x"));
  CHECK_FALSE(d.release("k", "abc", "x"));
  CHECK(d.refused(d.write(kv_verb::unlock, "k")) == "missing session");
  CHECK(d.release("k", s1, ""));
  auto e = d.get("k");
  CHECK(e->session.empty());
  CHECK(e->value->empty());
  CHECK(e->lock_index == 1);
  CHECK(e->modify_index == d.index());
  CHECK_FALSE(d.release("k", s1));
  CHECK(d.acquire("k", s2)); // no lock delay after a release
  CHECK(d.get("k")->lock_index == 2);
}

TEST_CASE("put and cas reset the lock index and keep the holder") {
  driver d;
  const auto s = d.open(1);
  d.acquire("k", s, "a");
  d.set("k", "b");
  CHECK(d.get("k")->lock_index == 0);
  CHECK(d.get("k")->session == s);
  d.release("k", s, "b");
  d.acquire("k", s, "b");
  CHECK(d.get("k")->lock_index == 1);
  CHECK(d.cas("k", d.get("k")->modify_index, "b")); // same value, but the lock index differs: a change
  CHECK(d.get("k")->lock_index == 0);
  CHECK(d.get("k")->modify_index == d.index());
}

TEST_CASE("lock_index_restarts_after_delete (C9)") {
  driver d;
  const auto s = d.open(1, 15000);
  d.acquire("k", s);
  d.release("k", s);
  d.acquire("k", s);
  CHECK(d.get("k")->lock_index == 2);
  d.remove("k");
  CHECK_FALSE(d.m.locked_out_until("k")); // deleting a locked key starts no delay
  CHECK(d.acquire("k", s));
  CHECK(d.get("k")->lock_index == 1);
}

TEST_CASE("the end of a session: behaviours") {
  for (const auto behavior : {session_behavior::release, session_behavior::remove}) {
    driver d;
    const auto s = d.open(1, 0, behavior), other = d.open(2);
    d.acquire("a", s, "va");
    d.acquire("b", s, "vb");
    d.acquire("c", other, "vc");
    d.acquire("taken-over", s);
    d.release("taken-over", s);
    d.acquire("taken-over", other);
    d.close(s);
    const auto end = d.index();
    CHECK(d.session(s) == nullptr);
    CHECK(d.get("c")->session == other);
    CHECK(d.get("taken-over")->session == other);
    if (behavior == session_behavior::release) {
      for (const auto* k : {"a", "b"}) {
        CHECK(d.get(k)->session.empty());
        CHECK(d.get(k)->modify_index == end);
        CHECK(d.get(k)->lock_index == 1);
      }
      CHECK(*d.get("a")->value == "va");
    } else {
      CHECK(d.get("a") == nullptr);
      CHECK(d.get("b") == nullptr);
      CHECK(d.prefix_index("a") == end.value); // through the tombstone
      CHECK(d.prefix_index("b") == end.value);
    }
    CHECK_FALSE(d.m.locked_out_until("a"));
  }
}

TEST_CASE("lock_delay: from the invalidation, per key, in cluster time") {
  driver d;
  const auto s = d.open(1, 15000), t = d.open(2);
  d.acquire("k", s);
  d.close(s);
  REQUIRE(d.m.locked_out_until("k"));
  CHECK(d.m.locked_out_until("k")->value == d.now.value + 15000);
  CHECK_FALSE(d.acquire("k", t));
  CHECK(d.changed.empty());
  CHECK(d.acquire("other", t));
  CHECK(d.set("k", "writes are not affected"));
  CHECK(d.remove("k"));
  CHECK_FALSE(d.acquire("k", t)); // even if the key was created again
  d.pass(14999);
  CHECK_FALSE(d.acquire("k", t));
  d.pass(1);
  CHECK(d.acquire("k", t));
  CHECK_FALSE(d.m.locked_out_until("k"));
}

TEST_CASE("lock delay is at most 60 s, and none if zero or negative") {
  struct row {
    std::int64_t requested_ms;
    std::uint64_t got_ms;
  };
  for (const auto& r : {row{90'000, 60'000}, row{60'000, 60'000}, row{1, 1}, row{0, 0}, row{-5, 0}}) {
    driver d;
    const auto s = d.open(1, r.requested_ms);
    d.acquire("k", s);
    d.close(s);
    const auto until = d.m.locked_out_until("k");
    CHECK((until ? until->value - d.now.value : 0) == r.got_ms);
  }
}

TEST_CASE("rejected early: delays by the leader's clock and invalid ids; never what the log might decide") {
  driver d;
  const auto s = d.open(1, 1000), t = d.open(2);
  d.acquire("k", s);
  d.close(s);
  const auto acquire = [](const std::string& key, const std::string& session) {
    kv_write w;
    w.op.verb = kv_verb::lock;
    w.op.key = key;
    w.op.session = session;
    return command(w);
  };
  const auto now = d.now;
  CHECK(std::get<bool>(*d.m.refuse_early(acquire("k", t), now)) == false);
  CHECK(std::get<bool>(*d.m.refuse_early(acquire("k", ""), now)) == false); // the delay is checked first
  CHECK_FALSE(d.m.refuse_early(acquire("k", t), cluster_time{now.value + 1000}));
  CHECK(std::get<refusal>(*d.m.refuse_early(acquire("x", ""), now)).text == "missing session");
  CHECK(std::get<refusal>(*d.m.refuse_early(acquire("x", "abc"), now)).text ==
        "failed session lookup: index error: UUID must be 36 characters");
  CHECK_FALSE(d.m.refuse_early(acquire("x", uuid(77)), now));
}

TEST_CASE("session ids are found in any case and stored in lower case") {
  driver d;
  d.add_node("n");
  session_create c;
  c.session.id = "ABCDEF00-0000-4000-8000-000000000001";
  c.session.node = "N";
  const auto id = std::get<std::string>(d.apply(c));
  CHECK(id == "abcdef00-0000-4000-8000-000000000001");
  CHECK(d.acquire("k", c.session.id));
  CHECK(d.get("k")->session == id);
  CHECK(d.release("k", c.session.id));
}
