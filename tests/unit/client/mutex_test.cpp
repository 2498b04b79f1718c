#include "tests/unit/client/virtual_cluster.hpp"

#include <belay/counter.hpp>
#include <belay/election.hpp>
#include <belay/mutex.hpp>
#include <belay/semaphore.hpp>

#include <memory>

using namespace belay;
using namespace belay::client_tests;

namespace {

session_options fifteen_seconds() {
  session_options o;
  o.lock_delay = milliseconds(0);
  return o;
}

/// A process with a session.
struct contender {
  contender(virtual_cluster& c) : env(c.time, c.server), s(env, fifteen_seconds()) {
    REQUIRE(c.run(s.open(c.within(seconds(5)))));
  }
  virtual_time::process env;
  session s;
};

} // namespace

TEST_CASE("a mutex passes from one holder to the next, with larger fencing tokens", "[client]") {
  for (auto speaks : {dialect::belay, dialect::consul}) {
    INFO((speaks == dialect::belay ? "belay" : "consul"));
    virtual_cluster c(speaks);
    contender a(c), b(c);
    mutex of_a(a.s, "jobs/x");
    mutex of_b(b.s, "jobs/x");
    auto first = c.run(of_a.acquire(c.within(seconds(5))));
    REQUIRE(first);
    CHECK(first->safe());
    auto second = of_b.acquire(c.within(minutes(5)));
    second.start();
    c.pass(minutes(2));
    CHECK_FALSE(second.done());
    auto released_at = c.time.now();
    REQUIRE(c.run(first->release(c.within(seconds(5)))));
    c.time.run_until(c.time.now() + seconds(5), [&] { return second.done(); });
    REQUIRE(second.done());
    CHECK(c.time.now() - released_at < seconds(1));
    auto got = second.take();
    REQUIRE(got);
    CHECK(got->fence() > first->fence());
    CHECK(c.server.holders("jobs/x") == std::vector<std::string>{b.s.id()});
    got->drop();
    c.pass(seconds(5));
    CHECK(c.server.holders("jobs/x").empty());
  }
}

TEST_CASE("a waiter leaves the queue by its deadline, by a stop, or by destroying the task", "[client]") {
  virtual_cluster c;
  contender a(c), b(c);
  mutex of_a(a.s, "x");
  mutex of_b(b.s, "x");
  auto first = c.run(of_a.acquire(c.within(seconds(5))));
  REQUIRE(first);
  auto late = c.run(of_b.acquire(c.within(seconds(2))));
  CHECK(late.reason() == reason::deadline);
  c.pass(seconds(3));
  CHECK(c.server.waiting("x") == 0);

  stop_source stop;
  auto stopped = of_b.acquire(c.within(minutes(5), &stop));
  stopped.start();
  c.pass(seconds(3));
  CHECK(c.server.waiting("x") == 1);
  stop.stop();
  c.pass(seconds(3));
  REQUIRE(stopped.done());
  CHECK(stopped.take().reason() == reason::stopped);
  CHECK(c.server.waiting("x") == 0);

  auto destroyed = of_b.acquire(c.within(minutes(5)));
  destroyed.start();
  c.pass(seconds(3));
  CHECK(c.server.waiting("x") == 1);
  destroyed.reset();
  c.pass(seconds(3));
  CHECK(c.server.waiting("x") == 0);
  CHECK_FALSE(b.s.has_pending_releases());
}

// The server would grant the lock to each of them, since the session is the same.
TEST_CASE("users of one session take turns", "[client]") {
  virtual_cluster c;
  contender a(c);
  mutex one(a.s, "x");
  mutex other(a.s, "x");
  auto first = c.run(one.acquire(c.within(seconds(5))));
  REQUIRE(first);
  auto second = other.acquire(c.within(minutes(5)));
  second.start();
  c.pass(seconds(20));
  CHECK_FALSE(second.done());
  first->drop();
  c.pass(seconds(3));
  REQUIRE(second.done());
  auto got = second.take();
  REQUIRE(got);
  CHECK(got->fence() > first->fence());
}

TEST_CASE("the loss of a session ends its waits and locks", "[client]") {
  for (auto speaks : {dialect::belay, dialect::consul}) {
    virtual_cluster c(speaks);
    contender a(c), b(c);
    mutex of_a(a.s, "x");
    mutex of_b(b.s, "x");
    auto held = c.run(of_a.acquire(c.within(seconds(5))));
    auto waits = of_b.acquire(c.within(minutes(5)));
    waits.start();
    c.pass(seconds(1));
    c.server.destroy(b.s.id());
    c.pass(seconds(10));
    REQUIRE(waits.done());
    CHECK(waits.take().reason() == reason::session);
    c.server.destroy(a.s.id());
    c.pass(seconds(10));
    CHECK_FALSE(held->safe());
    // The client's next session has its own tickets, even while a lease of the previous one exists.
    REQUIRE(c.run(a.s.open(c.within(seconds(5)))));
    CHECK(c.run(of_a.acquire(c.within(seconds(20)))));
    CHECK(c.run(held->release(c.within(seconds(1)))).reason() == reason::session);
  }
}

TEST_CASE("a semaphore grants as many permits as its limit", "[client]") {
  for (auto speaks : {dialect::belay, dialect::consul}) {
    INFO((speaks == dialect::belay ? "belay" : "consul"));
    virtual_cluster c(speaks);
    std::vector<std::unique_ptr<contender>> all;
    std::vector<result<lease>> held;
    for (int i = 0; i < 3; ++i) {
      all.push_back(std::make_unique<contender>(c));
      semaphore slots(all.back()->s, "pool", 3);
      held.push_back(c.run(slots.acquire(1, c.within(seconds(5)))));
      REQUIRE(held.back());
    }
    contender last(c);
    semaphore slots(last.s, "pool", 3);
    CHECK(c.run(slots.acquire(1, c.within(seconds(5)))).reason() == reason::deadline);
    auto waits = slots.acquire(1, c.within(minutes(5)));
    waits.start();
    c.pass(seconds(10));
    CHECK_FALSE(waits.done());
    held[1]->drop();
    c.pass(seconds(5));
    REQUIRE(waits.done());
    auto got = waits.take();
    REQUIRE(got);
    CHECK(got->safe());
    semaphore weighted(all[1]->s, "pool", 3);
    auto two = c.run(weighted.acquire(2, c.within(seconds(2))));
    CHECK(two.reason() == (speaks == dialect::belay ? reason::deadline : reason::unsupported));
  }
}

TEST_CASE("leadership is won, seen, transferred and resigned", "[client]") {
  for (auto speaks : {dialect::belay, dialect::consul}) {
    INFO((speaks == dialect::belay ? "belay" : "consul"));
    virtual_cluster c(speaks);
    contender a(c), b(c);
    election of_a(a.s, "leader");
    election of_b(b.s, "leader");
    election_observer seen(c.client, "leader", speaks == dialect::belay);
    auto nobody = c.run(seen.next(c.within(seconds(5))));
    REQUIRE(nobody);
    CHECK_FALSE(*nobody);
    auto first = c.run(of_a.campaign("here a", c.within(seconds(5))));
    REQUIRE(first);
    auto now = c.run(seen.next(c.within(minutes(2))));
    REQUIRE(now);
    REQUIRE(*now);
    CHECK((*now)->value == "here a");
    CHECK((*now)->session == a.s.id());
    CHECK((*now)->fence == first->fence() * (speaks == dialect::belay));

    auto second = of_b.campaign("here b", c.within(minutes(10)));
    second.start();
    c.pass(seconds(5));
    auto handed = c.run(of_a.transfer(*first, c.within(seconds(5))));
    if (speaks == dialect::belay) {
      CHECK(handed);
    } else {
      CHECK(handed.reason() == reason::unsupported);
      REQUIRE(c.run(first->release(c.within(seconds(5)))));
    }
    c.pass(seconds(5));
    REQUIRE(second.done());
    auto leadership = second.take();
    REQUIRE(leadership);
    CHECK(leadership->fence() > first->fence());
    for (;;) {
      auto next = c.run(seen.next(c.within(minutes(2))));
      REQUIRE(next);
      if (*next && (*next)->value == "here b")
        break;
    }
  }
}

// A server of 0.2.0 takes `/transfer` for the end of a claim's name.
TEST_CASE("a leadership is transferred by a server that has only the old name of the request", "[client]") {
  virtual_cluster c;
  c.server.has_old_names = true;
  contender a(c), b(c);
  election of_a(a.s, "leader");
  election of_b(b.s, "leader");
  auto first = c.run(of_a.campaign("here a", c.within(seconds(5))));
  REQUIRE(first);
  CHECK(c.run(of_a.transfer(*first, c.within(seconds(5)))).reason() == reason::invalid); // no candidate waits
  auto second = of_b.campaign("here b", c.within(minutes(10)));
  second.start();
  c.pass(seconds(5));
  CHECK(c.run(of_a.transfer(*first, c.within(seconds(5)))));
  c.pass(seconds(5));
  REQUIRE(second.done());
  CHECK(second.take());
  CHECK(c.server.holders("leader") == std::vector<std::string>{b.s.id()});
}

TEST_CASE("many clients add to one number, and each addition counts once", "[client]") {
  virtual_cluster c(dialect::belay, 7);
  std::vector<task<result<std::int64_t>>> adds;
  counter n(c.client, "n", 0, 15);
  for (int i = 0; i < 10; ++i) {
    adds.push_back(n.add(1, c.within(minutes(1))));
    adds.back().start();
  }
  c.pass(minutes(1));
  for (auto& t : adds) {
    REQUIRE(t.done());
    CHECK(t.take());
  }
  CHECK(c.server.value("n") == "10");
  CHECK(c.run(n.add(6, c.within(seconds(5)))).reason() == reason::bounds);
  CHECK(c.run(n.add(-11, c.within(seconds(5)))).reason() == reason::bounds);
  auto five = c.run(n.add(5, c.within(seconds(5))));
  REQUIRE(five);
  CHECK(*five == 15);
  c.server.put("n", "many");
  CHECK(c.run(n.add(1, c.within(seconds(5)))).reason() == reason::invalid);
}

TEST_CASE("a key is erased as it was seen, or not at all", "[client]") {
  virtual_cluster c;
  CHECK(*c.run(erase_if(c.client, "k", 5, c.within(seconds(5)))) == erased::absent);
  c.server.put("k", "v");
  auto seen = c.run(read_key(c.client, "k", c.within(seconds(5))));
  REQUIRE(seen);
  c.server.put("k", "w");
  CHECK(*c.run(erase_if(c.client, "k", seen->found->index, c.within(seconds(5)))) == erased::conflict);
  auto again = c.run(read_key(c.client, "k", c.within(seconds(5))));
  CHECK(again->found->value == "w");
  CHECK(*c.run(erase_if(c.client, "k", again->found->index, c.within(seconds(5)))) == erased::erased);
  CHECK_FALSE(c.server.value("k"));
}

// The lock delay is for holders that die. A client that releases and leaves delays no other.
TEST_CASE("a session that is closed releases its locks first", "[client]") {
  virtual_cluster c;
  virtual_time::process leaves(c.time, c.server);
  session s(leaves, session_options());
  REQUIRE(c.run(s.open(c.within(seconds(5)))));
  mutex lock(s, "x");
  auto held = c.run(lock.acquire(c.within(seconds(5))));
  REQUIRE(held);
  contender b(c);
  mutex of_b(b.s, "x");
  auto waits = of_b.acquire(c.within(minutes(1)));
  waits.start();
  c.pass(seconds(1));
  held->drop();
  REQUIRE(c.run(s.close(c.within(seconds(1)))));
  c.pass(milliseconds(200));
  CHECK(waits.done());
}

namespace {

/// A client agent. It passes on the first acquire of `x` and loses the response, then it is full.
class troubled_agent : public virtual_time::server {
public:
  explicit troubled_agent(model_server& behind) : behind_(behind) {}
  void take(const request& q, reply done) override {
    bool acquires = q.method() == "PUT" && q.target().find("/x?") != std::string::npos && q.waits();
    int n = acquires ? ++acquires_ : 0;
    if (n == 0)
      return behind_.take(q, std::move(done));
    if (n == 1)
      behind_.take(q, [](const answer&) {});
    done(n == 1 ? answer(500, "rpc error making call: EOF") : answer(429, "Your IP is issuing too many requests"));
  }
  int acquires() const { return acquires_; }

private:
  model_server& behind_;
  int acquires_ = 0;
};

} // namespace

// The first try waits in the queue at the servers, and its response is lost. The refusal of the
// second one proves nothing about it: without a withdrawal this session would get the lock later.
TEST_CASE("a try without a response is withdrawn when a later one is refused", "[client]") {
  for (auto how : {recipe::keys, recipe::claims}) {
    INFO((how == recipe::keys ? "key" : "claim"));
    virtual_cluster c;
    contender b(c);
    mutex_options options;
    options.how = how;
    mutex of_b(b.s, "x", options);
    auto first = c.run(of_b.acquire(c.within(seconds(5))));
    REQUIRE(first);

    troubled_agent agent(c.server);
    virtual_time::process behind_agent(c.time, agent);
    session s(behind_agent, fifteen_seconds());
    REQUIRE(c.run(s.open(c.within(seconds(5)))));
    mutex lock(s, "x", options);
    auto refused = c.run(lock.acquire(c.within(minutes(5))));
    CHECK(refused.reason() == reason::limit);
    CHECK(agent.acquires() == 2);
    c.pass(seconds(3));
    CHECK(c.server.waiting("x") == 0);
    REQUIRE(c.run(first->release(c.within(seconds(5)))));
    CHECK(c.run(of_b.acquire(c.within(seconds(5)))));
    c.pass(seconds(5));
    CHECK_FALSE(s.has_pending_releases());
  }
}

// The server rejects a session that would wait for itself (docs/reference/claims.md, rule 8).
TEST_CASE("many of one session share a semaphore", "[client]") {
  for (auto speaks : {dialect::belay, dialect::consul}) {
    virtual_cluster c(speaks);
    contender a(c);
    semaphore slots(a.s, "pool", speaks == dialect::belay ? 3 : 1);
    std::vector<task<result<lease>>> waiting;
    for (int i = 0; i < 8; ++i) {
      waiting.push_back(slots.acquire(1, c.within(minutes(5))));
      waiting.back().start();
    }
    int served = 0;
    for (int round = 0; round < 40; ++round) {
      c.pass(seconds(1));
      for (auto& t : waiting) {
        if (!t.valid() || !t.done())
          continue;
        served += t.take().done() ? 1 : 0;
        t.reset();
        break;
      }
    }
    CHECK(served == 8);
  }
}
