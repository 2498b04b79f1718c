// Locks other than the mutex: recursive, shared, striped, of trees.
#include "tests/unit/client/crew.hpp"

#include <belay/recursive_mutex.hpp>
#include <belay/shared_mutex.hpp>
#include <belay/striped_mutex.hpp>
#include <belay/tree_lock.hpp>

#include <set>

using namespace belay;
using namespace belay::client_tests;

namespace {

/// Writes to the store without a gate, for as long as it believes that it may.
template <class Held>
task<void> write_under(virtual_time::process& env, session& s, const Held& held, std::string who) {
  auto steps = 1 + env.random(4);
  for (std::uint64_t i = 0; i < steps && held.safe(); ++i) {
    request q("PUT", "/store");
    q.query("who", who).query("fence", std::to_string(held.fence()));
    auto deadline = env.now() + seconds(2);
    co_await ask(env, q, deadline);
    auto later = env.now() + seconds(2);
    co_await sleep_until(env, later, &s.ended());
  }
}

virtual_time::fault_rates slow_only() {
  virtual_time::fault_rates r;
  r.latency_max = milliseconds(400);
  return r;
}

// Recursive

struct recursive_kit {
  explicit recursive_kit(session& s) : lock(s, "m") {}
  recursive_mutex lock;
};
using recursive_crew = crew<recursive_kit>;

/// Tasks 0 and 1 are one owner, task 2 another.
task<void> enter_deeply(recursive_crew::member& m, std::size_t number, stage& seen) {
  std::string owner = std::to_string(m.number) + (number < 2 ? "x" : "y");
  for (;;) {
    bool open = co_await have_session(m.env, *m.s);
    if (!open)
      continue;
    // Six owners take turns of up to 20 s: giving up before a round ends loses the position.
    deadline soon(m.env.now() + seconds(180));
    result<recursive_mutex::level> outer = co_await m.kit->lock.acquire(owner, soon);
    if (!outer) {
      auto later = m.env.now() + seconds(1);
      co_await sleep_until(m.env, later, &m.s->ended());
      continue;
    }
    ++m.progress[number];
    auto* level = &*outer;
    stage::shown here(
        seen, m.env, *m.s, [level] { return level->safe_until(); }, owner);
    deadline at_once(m.env.now() + milliseconds(500));
    result<recursive_mutex::level> inner = co_await m.kit->lock.acquire(owner, at_once);
    if (inner) {
      co_await write_under(m.env, *m.s, *inner, owner);
      bool was_safe = outer->safe();
      inner->drop();
      if (was_safe && outer->safe_until() == instant())
        seen.complaint = "the outer lease went with the inner one";
    }
    co_await write_under(m.env, *m.s, *outer, owner);
    if (m.env.random(2)) {
      deadline two(m.env.now() + seconds(2));
      co_await outer->release(two);
    }
    outer->drop();
    // Another task of this owner may have acquired the mutex meanwhile: one owner can keep the
    // others out forever.
    auto later = m.env.now() + seconds(20 + m.env.random(20));
    co_await sleep_until(m.env, later);
  }
}

finding run_recursive(dialect speaks, std::uint64_t seed) {
  virtual_cluster c(speaks, seed, all_faults());
  stage seen;
  recursive_crew all(c, 3, 3, [&](recursive_crew::member& m, std::size_t n) { return enter_deeply(m, n, seen); });
  auto look = [&]() -> finding {
    auto names = seen.names();
    std::set<std::string> owners(names.begin(), names.end());
    return owners.size() > 1 ? "two owners have it" : seen.complaint;
  };
  // On Consul there is no order: a process may wait for some minutes.
  auto wrong = all.run(look, minutes(speaks == dialect::consul ? 40 : 6));
  return wrong.empty() ? fences_hold(c.server) : wrong;
}

/// Two tasks of an owner acquire at the same time: both have it as soon as one has.
finding run_siblings(std::uint64_t seed) {
  virtual_cluster c(dialect::belay, seed, slow_only());
  session s(c.client, session_options());
  if (!c.run(s.open(c.within(minutes(1)))))
    return "not opened";
  recursive_mutex lock(s, "m");
  auto one = lock.acquire("one", c.within(minutes(1)));
  auto two = lock.acquire("one", c.within(minutes(1)));
  one.start();
  two.start();
  c.pass(seconds(10));
  return one.done() && two.done() ? "" : "a task was not woken when its owner had it";
}

finding run_lost_owner(std::uint64_t seed) {
  virtual_cluster c(dialect::belay, seed, slow_only());
  session s(c.client, session_options());
  if (!c.run(s.open(c.within(seconds(30)))))
    return "not opened";
  recursive_mutex lock(s, "m");
  auto outer = c.run(lock.acquire("one", c.within(seconds(30))));
  if (!outer)
    return "not acquired";
  c.server.destroy(s.id());
  c.pass(seconds(30));
  if (!c.run(s.open(c.within(seconds(30)))))
    return "not opened again";
  if (c.run(lock.acquire("one", c.within(seconds(5)))).reason() != reason::session)
    return "an inner lease under a lost one";
  outer->drop();
  return c.run(lock.acquire("one", c.within(minutes(1)))) ? "" : "not acquired after the loss";
}

// Shared

struct shared_kit {
  explicit shared_kit(session& s) : lock(s, "rw") {}
  shared_mutex lock;
};
using shared_crew = crew<shared_kit>;

/// One request in three is a writer's, which becomes a reader half of the time.
task<void> read_or_write(shared_crew::member& m, std::size_t number, stage& seen) {
  for (;;) {
    bool open = co_await have_session(m.env, *m.s);
    if (!open)
      continue;
    deadline soon(m.env.now() + seconds(60));
    bool writes = m.env.random(3) == 0;
    task<result<lease>> taking;
    if (writes)
      taking = m.kit->lock.acquire(soon);
    else
      taking = m.kit->lock.acquire_shared(soon);
    result<lease> held = co_await taking;
    if (!held) {
      auto later = m.env.now() + seconds(1);
      co_await sleep_until(m.env, later, &m.s->ended());
      continue;
    }
    ++m.progress[number];
    auto* h = &*held;
    auto until = [h] { return h->safe_until(); };
    if (writes) {
      stage::shown here(seen, m.env, *m.s, until, "writer");
      co_await write_under(m.env, *m.s, *held, "w");
    }
    if (writes && m.env.random(2)) {
      deadline five(m.env.now() + seconds(5));
      co_await m.kit->lock.downgrade(*held, five);
      writes = false;
    }
    if (!writes) {
      stage::shown here(seen, m.env, *m.s, until, "reader");
      auto later = m.env.now() + seconds(3);
      co_await sleep_until(m.env, later, &m.s->ended());
    }
    if (m.env.random(2)) {
      deadline two(m.env.now() + seconds(2));
      co_await held->release(two);
    }
  }
}

finding run_shared(std::uint64_t seed) {
  virtual_cluster c(dialect::belay, seed, all_faults());
  stage seen;
  shared_crew all(c, 4, 2, [&](shared_crew::member& m, std::size_t n) { return read_or_write(m, n, seen); });
  auto look = [&]() -> finding {
    auto names = seen.names();
    bool writer = std::find(names.begin(), names.end(), "writer") != names.end();
    return writer && names.size() > 1 ? "a writer is not alone" : "";
  };
  auto wrong = all.run(look);
  return wrong.empty() ? fences_hold(c.server, "w") : wrong;
}

// Striped

struct striped_kit {
  explicit striped_kit(session& s) : lock(s, "striped", 3) {}
  striped_mutex lock;
};
using striped_crew = crew<striped_kit>;

task<void> lock_two_keys(striped_crew::member& m, std::size_t number, stage& seen) {
  for (;;) {
    bool open = co_await have_session(m.env, *m.s);
    if (!open)
      continue;
    std::vector<std::string> keys = {"k" + std::to_string(m.env.random(9)), "k" + std::to_string(m.env.random(9))};
    deadline soon(m.env.now() + seconds(60));
    result<std::vector<lease>> held = co_await m.kit->lock.acquire_all(keys, soon);
    if (!held) {
      auto later = m.env.now() + seconds(1);
      co_await sleep_until(m.env, later, &m.s->ended());
      continue;
    }
    ++m.progress[number];
    auto* first = &held->front();
    std::set<std::size_t> stripes;
    for (const auto& key : keys)
      stripes.insert(m.kit->lock.stripe_of(key));
    std::list<stage::shown> here;
    for (auto stripe : stripes)
      here.emplace_back(
          seen, m.env, *m.s, [first] { return first->safe_until(); }, std::to_string(stripe));
    co_await write_under(m.env, *m.s, *first, "s" + std::to_string(*stripes.begin()));
    here.clear();
    held->clear();
  }
}

finding run_striped(std::uint64_t seed, virtual_time::fault_rates rates) {
  virtual_cluster c(dialect::belay, seed, rates);
  stage seen;
  striped_crew all(c, 4, 1, [&](striped_crew::member& m, std::size_t n) { return lock_two_keys(m, n, seen); });
  auto look = [&]() -> finding {
    auto names = seen.names();
    std::sort(names.begin(), names.end());
    bool twice = std::adjacent_find(names.begin(), names.end()) != names.end();
    return twice ? "two have one stripe" : "";
  };
  auto wrong = all.run(look, minutes(6), 5);
  for (const auto* stripe : {"s0", "s1", "s2"})
    if (wrong.empty())
      wrong = fences_hold(c.server, stripe);
  return wrong;
}

// Lock trees

struct tree_kit {
  explicit tree_kit(session& s) : lock(s, "tree") {}
  tree_lock lock;
};
using tree_crew = crew<tree_kit>;

task<void> lock_paths(tree_crew::member& m, std::size_t number, stage& seen) {
  static constexpr const char* paths[] = {"", "a", "a/b", "a/c", "ab", "a/b/d"};
  for (;;) {
    bool open = co_await have_session(m.env, *m.s);
    if (!open)
      continue;
    std::string path = paths[m.env.random(6)];
    deadline soon(m.env.now() + seconds(60));
    result<tree_lease> held = co_await m.kit->lock.acquire(path, soon);
    if (!held) {
      auto later = m.env.now() + seconds(1);
      co_await sleep_until(m.env, later, &m.s->ended());
      continue;
    }
    ++m.progress[number];
    auto* h = &*held;
    stage::shown here(
        seen, m.env, *m.s, [h] { return h->safe_until(); }, path.empty() ? "/" : "/" + path + "/");
    co_await write_under(m.env, *m.s, *held, "/" + path + "/");
    if (m.env.random(2)) {
      deadline two(m.env.now() + seconds(2));
      co_await held->release(two);
    }
    held->drop();
  }
}

finding run_tree(std::uint64_t seed) {
  virtual_cluster c(dialect::belay, seed, all_faults());
  stage seen;
  tree_crew all(c, 4, 1, [&](tree_crew::member& m, std::size_t n) { return lock_paths(m, n, seen); });
  auto look = [&]() -> finding {
    auto names = seen.names();
    std::sort(names.begin(), names.end());
    for (std::size_t i = 0; i < names.size(); ++i)
      for (std::size_t j = i + 1; j < names.size(); ++j)
        if (names[j].compare(0, names[i].size(), names[i]) == 0)
          return names[i] + " and " + names[j] + " are held";
    return "";
  };
  auto wrong = all.run(look);
  return wrong.empty() ? fences_hold(c.server, "/a/b/") : wrong;
}

} // namespace

// The article's table: first lock; the same owner again; another one's release is refused.
TEST_CASE("a recursive mutex counts for each owner", "[client]") {
  for (auto speaks : {dialect::belay, dialect::consul}) {
    virtual_cluster c(speaks);
    session s(c.client, session_options());
    REQUIRE(c.run(s.open(c.within(seconds(5)))));
    recursive_mutex lock(s, "m");
    auto first = c.run(lock.acquire("one", c.within(seconds(5))));
    REQUIRE(first);
    auto requests_before = c.server.requests("PUT /v1/kv/m");
    auto again = c.run(lock.acquire("one", c.within(seconds(5))));
    REQUIRE(again);
    CHECK(c.server.requests("PUT /v1/kv/m") == requests_before);
    CHECK(first->depth() == 2);
    CHECK(again->fence() == first->fence());
    CHECK(c.run(lock.acquire("two", c.within(seconds(5)))).reason() == reason::deadline);
    auto waits = lock.acquire("two", c.within(minutes(1)));
    waits.start();
    CHECK(c.run(again->release(c.within(seconds(5)))));
    CHECK(first->safe());
    c.pass(seconds(5));
    CHECK_FALSE(waits.done());
    CHECK(c.run(first->release(c.within(seconds(5)))));
    CHECK_FALSE(first->safe());
    c.pass(seconds(5));
    REQUIRE(waits.done());
    auto second = waits.take();
    REQUIRE(second);
    CHECK(second->depth() == 1);
    second->drop();
    auto third = c.run(lock.acquire("one", c.within(seconds(5))));
    CHECK(third);
  }
}

TEST_CASE("tasks of one owner get it together", "[client]") {
  check_seeds(10, run_siblings);
}

TEST_CASE("an owner whose outer lock was lost does not get an inner one", "[client]") {
  check_seeds(10, run_lost_owner);
}

TEST_CASE("readers share, writers are alone, and requests after a writer wait for it", "[client]") {
  virtual_cluster c;
  session s(c.client, session_options());
  virtual_time::process other(c.time, c.server);
  session t(other, session_options());
  REQUIRE(c.run(s.open(c.within(seconds(5)))));
  REQUIRE(c.run(t.open(c.within(seconds(5)))));
  shared_mutex of_s(s, "rw");
  shared_mutex of_t(t, "rw");
  auto one = c.run(of_s.acquire_shared(c.within(seconds(5))));
  auto two = c.run(of_s.acquire_shared(c.within(seconds(5))));
  REQUIRE(one);
  REQUIRE(two);
  auto writer = of_t.acquire(c.within(minutes(5)));
  writer.start();
  c.pass(seconds(2));
  CHECK_FALSE(writer.done());
  auto behind = of_s.acquire_shared(c.within(minutes(5)));
  behind.start();
  one->drop();
  two->drop();
  c.pass(seconds(5));
  REQUIRE(writer.done());
  CHECK_FALSE(behind.done());
  auto alone = writer.take();
  REQUIRE(alone);
  CHECK(alone->fence() > one->fence());
  auto fence = alone->fence();
  REQUIRE(c.run(of_t.downgrade(*alone, c.within(seconds(5)))));
  CHECK(alone->fence() == fence);
  c.pass(seconds(5));
  REQUIRE(behind.done());
  CHECK(behind.take());
  CHECK(alone->safe());

  virtual_cluster consul(dialect::consul);
  session u(consul.client, session_options());
  REQUIRE(consul.run(u.open(consul.within(seconds(5)))));
  shared_mutex none(u, "rw");
  CHECK(consul.run(none.acquire(consul.within(seconds(5)))).reason() == reason::unsupported);
}

TEST_CASE("keys of one stripe share a lock, and several keys are held together", "[client]") {
  virtual_cluster c;
  session s(c.client, session_options());
  REQUIRE(c.run(s.open(c.within(seconds(5)))));
  striped_mutex lock(s, "t", 64);
  // The published values of FNV-1a for "" and "a".
  CHECK(lock.stripe_of("") == 0xcbf29ce484222325u % 64);
  CHECK(lock.stripe_of("a") == 0xaf63dc4c8601ec8cu % 64);
  std::vector<std::string> keys = {"a", "b", "a", "c"};
  auto held = c.run(lock.acquire_all(keys, c.within(seconds(5))));
  REQUIRE(held);
  CHECK(held->size() == 3);
  CHECK(c.run(lock.acquire("b", c.within(seconds(2)))).reason() == reason::deadline);
  held->clear();
  CHECK(c.run(lock.acquire("b", c.within(seconds(5)))));
}

TEST_CASE("a path is locked together with everything under it, and independently of its neighbours", "[client]") {
  virtual_cluster c;
  session s(c.client, session_options());
  REQUIRE(c.run(s.open(c.within(seconds(5)))));
  tree_lock lock(s, "t");
  auto held = c.run(lock.acquire("eu/berlin", c.within(seconds(5))));
  REQUIRE(held);
  CHECK(c.run(lock.acquire("eu/paris", c.within(seconds(5)))));
  CHECK(c.run(lock.acquire("eu/berlin2", c.within(seconds(5)))));
  CHECK(c.run(lock.acquire("eu", c.within(seconds(2)))).reason() == reason::deadline);
  CHECK(c.run(lock.acquire("/eu//berlin/mitte/", c.within(seconds(2)))).reason() == reason::deadline);
  CHECK(c.run(lock.acquire("", c.within(seconds(2)))).reason() == reason::deadline);
  REQUIRE(c.run(held->release(c.within(seconds(5)))));
  CHECK(c.run(lock.acquire("", c.within(seconds(30)))));
}

TEST_CASE("recursive mutexes hold their guarantees under faults", "[client][faults]") {
  for (auto speaks : {dialect::belay, dialect::consul})
    check_seeds(15, [=](std::uint64_t seed) { return run_recursive(speaks, seed); });
}

TEST_CASE("shared mutexes hold their guarantees under faults", "[client][faults]") {
  check_seeds(20, run_shared);
}

TEST_CASE("striped mutexes hold their guarantees under faults", "[client][faults]") {
  check_seeds(20, [](std::uint64_t seed) { return run_striped(seed, all_faults()); });
}

TEST_CASE("locks of trees hold their guarantees under faults", "[client][faults]") {
  check_seeds(20, run_tree);
}

TEST_CASE("known bugs of locks are found by seeds", "[client][faults]") {
  auto recursive = [](std::uint64_t seed) { return run_recursive(dialect::belay, seed); };
  auto striped = [](std::uint64_t seed) { return run_striped(seed, all_faults()); };
  auto striped_calmly = [](std::uint64_t seed) { return run_striped(seed, slow_only()); };
  check_that_found({
      {"recursion_uncounted", recursive},
      {"recursion_wakes_nobody", run_siblings},
      {"recursion_enters_lost", run_lost_owner},
      {"fence_unchecked", recursive},
      {"writer_asks_as_reader", run_shared},
      {"safe_from_answer", run_shared},
      {"debt_rings_nobody", run_shared},
      {"stripes_in_any_order", striped_calmly},
      {"safe_from_answer", striped},
      {"turn_wakes_nobody", striped},
      {"tree_without_root", run_tree},
      {"safe_from_answer", run_tree},
      {"fence_unchecked", run_tree},
  });
}
