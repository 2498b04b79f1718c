// The three kinds of reads, and what a change of leader must not do to them.

#include "tests/actors/cluster_fixture.hpp"

#include <catch2/catch.hpp>

#include <caf/send.hpp>

#include <set>

using namespace belay;
using namespace belay::actors;
using namespace belay::actors::testing;
using http::consistency;

namespace {

template <class Body>
bool carries(const wire::frame& f) {
  const auto* m = std::get_if<raft::message>(&f);
  return m != nullptr && std::holds_alternative<Body>(m->body);
}

void hold_everything(cluster_fixture& c) {
  for (std::size_t a = 0; a < 3; ++a)
    for (std::size_t b = 0; b < 3; ++b)
      if (a != b)
        c.net().hold(a, b);
}

} // namespace

// The leader is about to transfer the leadership. It gives up its lease first: the next leader may
// be elected at once. A thread that still used the old lease would return replaced values.
TEST_CASE("a leader that releases its lease stops default reads of other HTTP threads",
          "[actors][reads][http_threads]") {
  cluster_options o;
  o.http_threads = true;
  cluster_fixture c(o);
  const auto leader = c.leader();
  c.put_done(leader, "k", "v");
  http::read_request get;
  get.query = state::kv_get{"k"};
  get.mode = consistency::normal;
  REQUIRE(c.shared(leader).read(0, get, c.now()));
  hold_everything(c); // no response extends the lease
  caf::anon_send(c.fsm(leader), give_up_lease{});
  c.settle();
  CHECK_FALSE(c.shared(leader).read(0, get, c.now()));
  get.mode = consistency::stale;
  CHECK(c.shared(leader).read(0, get, c.now()));
}

TEST_CASE("a default read needs no other server while the lease lasts", "[actors][reads][R12]") {
  // From now on no frame arrives. While its lease is valid the leader answers alone. A consistent
  // read trusts no clock and waits. When the lease has expired, default reads wait, too.
  cluster_fixture c;
  const auto leader = c.leader();
  c.put_done(leader, "k", "v");
  hold_everything(c);
  const auto fast = c.get(leader, "k");
  const auto careful = c.get(leader, "k", consistency::consistent);
  c.settle();
  CHECK(c.answered(fast));
  CHECK_FALSE(c.answered(careful));

  c.pass(milliseconds(220)); // election time 250 ms, less twice the clock error of 10 %: 200 ms
  const auto late = c.get(leader, "k");
  c.pass(milliseconds(10));
  CHECK_FALSE(c.answered(late));
  CHECK_FALSE(c.answered(careful));
  c.net().release();
  CHECK(value_of(c.found(late)) == "v");
  CHECK(value_of(c.found(careful)) == "v");
  CHECK(value_of(c.found(fast)) == "v");
}

TEST_CASE("a leader whose machine was suspended no longer trusts its lease", "[actors][reads][R12]") {
  // Its machine is suspended for ten seconds: no frame was handled, no tick passed, another one may
  // lead. With a stopped clock it would answer from its tables, and renew ended sessions.
  cluster_fixture c;
  const auto leader = c.leader();
  c.put_done(leader, "k", "v");
  const auto session = c.session(leader, seconds(10));
  hold_everything(c);
  const bool slept = GENERATE(false, true);
  c.suspended(leader, slept ? seconds(10) : seconds(0));
  const auto read = c.get(leader, "k");
  const auto renewal = c.renew(leader, session);
  c.settle();
  CHECK(c.answered(read) == !slept);
  CHECK(c.answered(renewal) == !slept);
  c.net().release();
  CHECK(value_of(c.found(read)) == "v");
}

TEST_CASE("deposed_leader_reads: a replaced leader answers nothing from the past", "[actors][reads][J1]") {
  // The leader is cut off together with a client that keeps reading. The others elect another one
  // and accept a write. Once that write is acknowledged, the old leader must not return the old
  // value, whatever the kind of read.
  const auto seed = GENERATE(1u, 2u, 3u, 4u);
  CAPTURE(seed);
  cluster_options o;
  o.seed = seed;
  cluster_fixture c(o);
  const auto old = c.leader();
  const auto others = c.all_but(old);
  c.put_done(old, "k", "before");

  c.net().partition({{old}, others});
  std::vector<call> reads;
  const auto ask = [&] {
    reads.push_back(c.get(old, "k"));
    reads.push_back(c.get(old, "k", consistency::consistent));
    c.pass(milliseconds(5));
  };
  for (int i = 0; i < 400 && !c.serving(others[0]) && !c.serving(others[1]); ++i)
    ask();
  const auto next = c.leader(others);
  c.put_done(next, "k", "after");
  const auto acknowledged = c.now();
  for (int i = 0; i < 100; ++i)
    ask();

  std::size_t early = 0;
  for (const auto& r : reads) {
    if (!c.answered(r))
      continue;
    ++early;
    CHECK(c.answers(r).at <= acknowledged);
  }
  CHECK(early > 0); // it did serve while its lease held

  SECTION("healed in time, they are answered with the present data") {
    c.net().heal();
    for (const auto& r : reads) {
      const auto answer = c.found(r);
      if (c.answers(r).at > acknowledged)
        CHECK(value_of(answer) == "after");
    }
  }
  SECTION("otherwise they fail after the hold time") {
    c.pass(seconds(8));
    for (const auto& r : reads) {
      const auto answer = c.found(r);
      if (c.answers(r).at > acknowledged)
        CHECK(value_of(answer) == "(failed: No cluster leader)");
    }
  }
}

TEST_CASE("a follower answers a consistent read once it has applied what the leader had", "[actors][reads]") {
  // A quorum without this follower acknowledged the write. The follower requests from the leader
  // the index to wait for, and then waits.
  const auto mode = GENERATE(consistency::normal, consistency::consistent);
  cluster_fixture c;
  const auto leader = c.leader();
  const auto follower = c.all_but(leader).front();
  c.put_done(leader, "k", "old");
  c.pass(milliseconds(100));
  c.net().filter = [&](std::size_t, std::size_t to, const wire::frame& f) {
    return !(to == follower && carries<raft::append_entries>(f));
  };
  c.put_done(leader, "k", "new");
  CHECK(c.stale(follower, "k") == "old");
  const auto r = c.get(follower, "k", mode);
  c.pass(milliseconds(50));
  CHECK_FALSE(c.answered(r));
  CHECK(c.net().sent<wire::read_index>(leader).size() == 1);
  c.net().filter = nullptr;
  CHECK(value_of(c.found(r)) == "new");
}

TEST_CASE("read_before_noop: a new leader answers when its own term has a committed entry", "[actors][reads][R10]") {
  // The leader acknowledged the write and died at once. The new one has it in its log, but does not
  // know that it is committed until an entry of its own term is. A read before that would miss it.
  cluster_fixture c;
  const auto old = c.leader();
  const auto others = c.all_but(old);
  c.pass(milliseconds(100));
  // Followers receive the entry but not its commit.
  const auto w = c.put(old, "k", "v");
  REQUIRE(c.until([&] { return c.answered(w); }));
  REQUIRE(c.written(w).outcome == wire::call_outcome::done);
  c.crash(old, true);
  REQUIRE(c.stale(others[0], "k") == "(none)");
  REQUIRE(c.stale(others[1], "k") == "(none)");

  c.net().filter = [&](std::size_t, std::size_t, const wire::frame& f) { return !carries<raft::append_reply>(f); };
  const auto leads = [&](std::size_t i) { return c.view(i).soft.role == raft::role::leader; };
  REQUIRE(c.until([&] { return leads(others[0]) || leads(others[1]); }));
  const auto young = leads(others[0]) ? others[0] : others[1];
  const auto other = leads(others[0]) ? others[1] : others[0];
  std::vector<call> reads;
  for (auto mode : {consistency::normal, consistency::consistent}) {
    reads.push_back(c.get(young, "k", mode));
    reads.push_back(c.get(other, "k", mode));
  }
  c.pass(milliseconds(150));
  REQUIRE(leads(young));
  CHECK_FALSE(c.serving(young));
  for (const auto& r : reads)
    CHECK_FALSE(c.answered(r));
  CHECK(c.stale(young, "k") == "(none)"); // a stale read is answered

  c.net().filter = nullptr;
  for (const auto& r : reads)
    CHECK(value_of(c.found(r)) == "v");
}

TEST_CASE("pause_between_read_retries: an answer to an earlier attempt counts for nothing", "[actors][reads][R11]") {
  // A response to a follower was in flight while the leader changed and a write was acknowledged.
  // If the request were repeated with the same number, a read could miss the write.
  cluster_fixture c;
  const auto old = c.leader();
  const auto others = c.all_but(old);
  const auto follower = others.front();
  c.put_done(old, "k", "before");
  c.pass(milliseconds(100));

  std::vector<wire::read_index_reply> on_its_way, of_the_next;
  c.net().filter = [&](std::size_t from, std::size_t to, const wire::frame& f) {
    const auto* reply = std::get_if<wire::read_index_reply>(&f);
    if (reply == nullptr || to != follower)
      return true;
    (from == old ? on_its_way : of_the_next).push_back(*reply);
    return false;
  };
  const auto r = c.get(follower, "k", consistency::consistent);
  c.pass(milliseconds(10));
  REQUIRE(on_its_way.size() == 1);
  REQUIRE(on_its_way.front().ok);
  REQUIRE_FALSE(c.answered(r));

  c.net().partition({{old}, others});
  const auto next = c.leader(others);
  c.put_done(next, "k", "after");
  c.pass(milliseconds(100));
  c.net().inject(old, follower, on_its_way.front());
  c.settle();
  if (next != follower) { // otherwise it has confirmed the read itself already
    CHECK_FALSE(c.answered(r));
    REQUIRE(of_the_next.size() == 1);
    c.net().inject(next, follower, of_the_next.front());
  }
  CHECK(value_of(c.found(r)) == "after");

  std::set<std::uint64_t> ids;
  std::size_t attempts = 0;
  for (std::size_t i = 0; i < 3; ++i)
    for (const auto& [from, q] : c.net().sent<wire::read_index>(i)) {
      ++attempts;
      ids.insert(q.id);
    }
  CHECK(ids.size() == attempts);
}

TEST_CASE("reads without a leader fail after the hold time, stale ones do not", "[actors][reads][C2]") {
  // Consul answers stale reads without a leader, and marks them; others get its error text.
  cluster_fixture c;
  const auto leader = c.leader();
  c.put_done(leader, "k", "v");
  c.net().partition({{0}, {1}, {2}});
  c.pass(seconds(2));
  const auto r = c.get(0, "k");
  const auto s = c.get(0, "k", consistency::stale);
  c.settle();
  CHECK(value_of(c.found(s)) == "v");
  CHECK_FALSE(c.found(s).known_leader);
  CHECK(c.found(s).last_contact_ms >= 1000);
  c.pass(milliseconds(6900));
  CHECK_FALSE(c.answered(r));
  CHECK(value_of(c.found(r)) == "(failed: No cluster leader)");
}

TEST_CASE("a server that has never heard a leader does not serve stale reads", "[actors][reads]") {
  // It was restarted and is alone: its state may be days old, and it cannot know. Consul waits, and
  // then refuses.
  cluster_fixture c;
  const auto leader = c.leader();
  c.put_done(leader, "k", "v");
  const auto node = c.all_but(leader).front();
  for (std::size_t i = 0; i < 3; ++i)
    c.crash(i);
  c.start(node);
  const auto r = c.get(node, "k", consistency::stale);
  c.pass(seconds(6));
  CHECK_FALSE(c.answered(r));
  CHECK(value_of(c.found(r)) == "(failed: No cluster leader)");
}

TEST_CASE("a leader that loses a read's round answers it as a follower", "[actors][reads][R11]") {
  // The barrier was in progress when the leader changed: the new leader gets the request again.
  cluster_fixture c;
  const auto old = c.leader();
  const auto others = c.all_but(old);
  c.put_done(old, "k", "before");
  c.net().partition({{old}, others});
  const auto r = c.get(old, "k", consistency::consistent);
  const auto next = c.leader(others);
  c.put_done(next, "k", "after");
  CHECK_FALSE(c.answered(r));
  c.net().heal();
  CHECK(value_of(c.found(r)) == "after");
  CHECK(c.net().sent<wire::read_index>(next).size() >= 1);
}
