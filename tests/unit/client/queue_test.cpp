// Queues, and what fencing tokens protect: the resource itself, and sections with compensation.
#include "tests/unit/client/crew.hpp"

#include <belay/fenced.hpp>
#include <belay/mutex.hpp>
#include <belay/queue.hpp>
#include <belay/saga.hpp>

#include <map>
#include <set>

using namespace belay;
using namespace belay::client_tests;

namespace {

// Queues

struct queue_kit {
  explicit queue_kit(session& s) : items(s, "q") {}
  queue items;
};
using queue_crew = crew<queue_kit>;

struct queue_story {
  std::set<std::string> certain; ///< put() was done
  std::set<std::string> perhaps; ///< its outcome is unknown
  std::map<std::string, int> acknowledged;
  std::set<std::string> unsure; ///< the outcome of ack() is unknown
  int next = 0;
  bool no_more = false;
};

/// Task 0 puts, the others take.
task<void> put_or_take(queue_crew::member& m, std::size_t number, queue_story& story, stage& seen) {
  for (;;) {
    bool open = co_await have_session(m.env, *m.s);
    if (!open)
      continue;
    if (number == 0) {
      ++m.progress[0];
      auto later = m.env.now() + milliseconds(5000 + m.env.random(15'000));
      co_await sleep_until(m.env, later);
      if (story.no_more)
        continue;
      std::string value = "item " + std::to_string(story.next++);
      story.perhaps.insert(value);
      deadline minute(m.env.now() + seconds(20));
      status put = co_await m.kit->items.put(value, minute);
      if (put)
        story.certain.insert(value);
      if (put || put.refused())
        story.perhaps.erase(value);
      continue;
    }
    ++m.progress[number];
    deadline soon(m.env.now() + seconds(30));
    result<queue_item> item = co_await m.kit->items.take(soon);
    if (!item) {
      auto later = m.env.now() + milliseconds(100);
      co_await sleep_until(m.env, later);
      continue;
    }
    auto* it = &*item;
    auto* s = m.s.get();
    std::string value = item->value();
    {
      stage::shown here(
          seen, m.env, *m.s, [it, s] { return it->safe() ? s->safe_until() : instant(); }, value);
      auto later = m.env.now() + milliseconds(m.env.random(8000));
      co_await sleep_until(m.env, later, &m.s->ended());
    }
    deadline five(m.env.now() + seconds(5));
    auto what = m.env.random(10);
    if (what == 0)
      co_await m.kit->items.give_back(std::move(*item), five);
    if (what < 2)
      continue;
    // A process that dies during it does not know, either.
    bool was_unsure = !story.unsure.insert(value).second;
    status done = co_await m.kit->items.ack(std::move(*item), five);
    if (done)
      ++story.acknowledged[value];
    if (done.refused() && !was_unsure)
      story.unsure.erase(value);
  }
}

finding run_queue(dialect speaks, std::uint64_t seed, virtual_time::fault_rates rates) {
  virtual_cluster c(speaks, seed, rates);
  stage seen;
  queue_story story;
  queue_crew all(c, 3, 3, [&](queue_crew::member& m, std::size_t n) { return put_or_take(m, n, story, seen); });
  bool calm = false;
  auto look = [&]() -> finding {
    auto names = seen.names();
    std::sort(names.begin(), names.end());
    if (std::adjacent_find(names.begin(), names.end()) != names.end())
      return "two have one item";
    for (const auto& [value, n] : story.acknowledged)
      if (n > 1)
        return value + " was acknowledged twice";
    // Without faults, an item that no consumer holds is taken soon.
    auto now = c.time.now().time_since_epoch();
    if (now > seconds(1000) + minutes(15))
      story.no_more = true;
    calm = now > seconds(1000) + minutes(16);
    return "";
  };
  auto wrong = all.run(look);
  if (!wrong.empty())
    return wrong;
  if (!calm || !c.server.all("q/").empty())
    return std::to_string(c.server.all("q/").size()) + " items are left";
  for (const auto& value : story.certain)
    if (!story.acknowledged.count(value) && !story.unsure.count(value))
      return value + " is lost";
  for (const auto& [value, n] : story.acknowledged)
    if (!story.certain.count(value) && !story.perhaps.count(value))
      return value + " was never put";
  return {};
}

/// A waiting consumer gets an item soon after it was put.
finding run_waiting_taker(std::uint64_t seed) {
  virtual_cluster c(dialect::belay, seed);
  session s(c.client, session_options());
  if (!c.run(s.open(c.within(seconds(30)))))
    return "not opened";
  queue items(s, "q");
  auto taking = items.take(c.within(minutes(10)));
  taking.start();
  c.pass(seconds(5));
  if (!c.run(items.put("x", c.within(seconds(30)))))
    return "not put";
  c.pass(milliseconds(500));
  return taking.done() ? "" : "it was not woken";
}

// Protected writes

struct guarded_kit {
  explicit guarded_kit(session& s) : lock(s, "m") {}
  mutex lock;
};
using guarded_crew = crew<guarded_kit>;

/// Writes the fencing token under the lock, even after a pause in between.
task<void> write_guarded(guarded_crew::member& m, fenced<std::vector<std::uint64_t>>& resource) {
  for (;;) {
    bool open = co_await have_session(m.env, *m.s);
    if (!open)
      continue;
    deadline soon(m.env.now() + seconds(60));
    result<lease> held = co_await m.kit->lock.acquire(soon);
    if (!held) {
      auto later = m.env.now() + seconds(1);
      co_await sleep_until(m.env, later);
      continue;
    }
    for (int i = 0; i < 3; ++i) {
      std::string fence = std::to_string(held->fence());
      deadline five(m.env.now() + seconds(5));
      status put =
          co_await put_under(*m.s, *held, "m", "guarded", fence + " " + std::to_string(m.env.random(1000)), five);
      m.progress[0] += put ? 1 : 0;
      auto number = held->fence();
      auto later = m.env.now() + milliseconds(m.env.random(6000));
      co_await sleep_until(m.env, later);
      (void)resource.apply(number, [number](std::vector<std::uint64_t>& all) { all.push_back(number); });
    }
  }
}

finding run_guarded(dialect speaks, std::uint64_t seed) {
  virtual_cluster c(speaks, seed, all_faults());
  fenced<std::vector<std::uint64_t>> resource;
  guarded_crew all(c, 3, 1, [&](guarded_crew::member& m, std::size_t) { return write_guarded(m, resource); });
  std::uint64_t largest = 0;
  auto look = [&]() -> finding {
    auto now = c.server.value("guarded");
    std::uint64_t fence = now ? std::stoull(*now) : 0;
    if (fence < largest)
      return "the key was written by an earlier holder";
    largest = fence;
    return "";
  };
  auto wrong = all.run(look);
  if (!wrong.empty())
    return wrong;
  bool sorted = std::is_sorted(resource.value().begin(), resource.value().end());
  return sorted ? "" : "an earlier holder changed the resource";
}

// Sections

/// The resource that steps of sections change. It remembers the steps, and rejects late ones.
struct ledger {
  fencing_token_checker gate;
  std::map<std::string, int> applied; ///< by saga and step; 1: done, -1: undone
  std::set<std::string> committed;
  std::set<std::string> in_doubt;

  void apply(const std::string& id, std::uint64_t fence) {
    if (gate.admits(fence) && applied[id] == 0)
      applied[id] = 1;
  }
  void undo(const std::string& id, std::uint64_t fence) {
    if (gate.admits(fence))
      applied[id] = -1;
  }
};

task<status> undo_in(environment& env, ledger& l, saga_step s) {
  auto later = env.now() + milliseconds(env.random(2000));
  co_await sleep_until(env, later);
  if (env.random(4) == 0)
    co_return error(outcome::refused, reason::unavailable, "the resource is away");
  l.undo(s.saga_id + "/" + std::to_string(s.number), s.fence);
  co_return nothing();
}

struct section_kit {
  explicit section_kit(session&) {}
};
using section_crew = crew<section_kit>;

task<void> run_sections(section_crew::member& m, ledger& l, int& next) {
  auto how = [&l, &m](saga_step s) { return undo_in(m.env, l, std::move(s)); };
  for (;;) {
    bool open = co_await have_session(m.env, *m.s);
    if (!open)
      continue;
    saga work(*m.s, "pay", how);
    std::string name = "order" + std::to_string(next++);
    deadline minute(m.env.now() + minutes(1));
    status begun = co_await work.begin(name, minute);
    if (!begun) {
      auto later = m.env.now() + seconds(1);
      co_await sleep_until(m.env, later);
      continue;
    }
    auto fence = work.fence();
    bool all = true;
    for (int i = 0; i < 3 && all; ++i) {
      deadline ten(m.env.now() + seconds(10));
      status noted = co_await work.step("debit", name, ten);
      all = noted.done() && m.env.random(8) > 0;
      if (!noted)
        break;
      auto later = m.env.now() + milliseconds(m.env.random(3000));
      co_await sleep_until(m.env, later);
      l.apply(name + "/" + std::to_string(i), fence);
    }
    deadline ten(m.env.now() + seconds(10));
    if (!all) {
      if (m.env.random(2))
        co_await work.roll_back(ten);
      continue;
    }
    // A process that dies during it does not know, either.
    l.in_doubt.insert(name);
    status done = co_await work.commit(ten);
    if (done)
      l.committed.insert(name);
    if (!done.unknown())
      l.in_doubt.erase(name);
    m.progress[0] += done ? 1 : 0;
  }
}

/// Sections of three steps, many of which break off. In the end each one is complete, or undone.
finding run_compensation(dialect speaks, std::uint64_t seed) {
  virtual_cluster c(speaks, seed, all_faults());
  ledger l;
  int next = 0;
  section_crew all(c, 3, 1, [&](section_crew::member& m, std::size_t) { return run_sections(m, l, next); });
  // On Consul there is no order, and a third of the sections break off by chance.
  auto wrong = all.run([] { return finding(); }, minutes(speaks == dialect::consul ? 25 : 10));
  if (!wrong.empty())
    return wrong;
  // recover() undoes what is left.
  c.time.heal();
  c.pass(minutes(2));
  session s(c.client, session_options());
  if (!c.run(s.open(c.within(minutes(1)))))
    return "not opened";
  auto how = [&l, &c](saga_step step) { return undo_in(c.client, l, std::move(step)); };
  bool recovered = false;
  for (int i = 0; i < 50 && !recovered; ++i) {
    saga work(s, "pay", how);
    recovered = c.run(work.recover(c.within(minutes(1)))).done();
  }
  if (!recovered || c.server.value("pay/.intent"))
    return "not recovered";
  for (int i = 0; i < next; ++i) {
    auto name = "order" + std::to_string(i);
    int there = 0;
    for (int step = 0; step < 3; ++step)
      there += l.applied[name + "/" + std::to_string(step)] == 1 ? 1 : 0;
    if (there != 0 && there != 3)
      return name + " is there in part";
    if (l.committed.count(name) && there != 3)
      return name + " was committed and undone";
    if (!l.committed.count(name) && !l.in_doubt.count(name) && there != 0)
      return name + " was not committed and is there";
  }
  return {};
}

} // namespace

TEST_CASE("a queue gives each item to one consumer, in order, and again after its release", "[client]") {
  for (auto speaks : {dialect::belay, dialect::consul}) {
    virtual_cluster c(speaks);
    virtual_time::process other(c.time, c.server);
    session s(c.client, session_options());
    session_options quick;
    quick.lock_delay = milliseconds(1000);
    session t(other, quick);
    REQUIRE(c.run(s.open(c.within(seconds(5)))));
    REQUIRE(c.run(t.open(c.within(seconds(5)))));
    queue of_s(s, "q");
    queue of_t(t, "q");
    for (const auto* value : {"a", "b", "c"})
      REQUIRE(c.run(of_s.put(value, c.within(seconds(5)))));
    auto a = c.run(of_t.take(c.within(seconds(5))));
    auto b = c.run(of_s.take(c.within(seconds(5))));
    REQUIRE(a);
    REQUIRE(b);
    CHECK(a->value() == "a");
    CHECK(a->tries() == 1);
    CHECK(b->value() == "b");
    REQUIRE(c.run(of_s.give_back(std::move(*b), c.within(seconds(5)))));
    auto again = c.run(of_s.take(c.within(seconds(5))));
    REQUIRE(again);
    CHECK(again->value() == "b");
    CHECK(again->tries() == 2);
    REQUIRE(c.run(of_s.ack(std::move(*again), c.within(seconds(5)))));
    CHECK(*c.run(of_s.size(c.within(seconds(5)))) == 2);
    // The item of a dead consumer returns after the lock delay of its session.
    c.server.destroy(t.id());
    c.pass(seconds(1));
    auto first = c.run(of_s.take(c.within(seconds(30))));
    REQUIRE(first);
    auto second = c.run(of_s.take(c.within(seconds(30))));
    REQUIRE(second);
    CHECK(std::set<std::string>{first->value(), second->value()} == std::set<std::string>{"a", "c"});
    c.pass(seconds(10));
    CHECK(c.run(of_t.ack(std::move(*a), c.within(seconds(5)))).reason() == reason::session);
    CHECK(c.run(of_s.take(c.within(seconds(3)))).reason() == reason::deadline);
    { auto gone = std::move(*first); }
    c.pass(seconds(2));
    CHECK(c.run(of_s.take(c.within(seconds(5)))));
  }
}

TEST_CASE("a fenced resource rejects late holders", "[client]") {
  fenced<int> resource(1, 10);
  CHECK(resource.apply(9, [](int& n) { n = 9; }).reason() == reason::held);
  CHECK(resource.apply(10, [](int& n) { n = 10; }));
  CHECK(resource.apply(12, [](int& n) { n = 12; }));
  CHECK(resource.apply(11, [](int& n) { n = 11; }).reason() == reason::held);
  CHECK(resource.apply(0, [](int& n) { n = 0; }).reason() == reason::held);
  CHECK(resource.value() == 12);
  CHECK(resource.largest() == 12);
}

TEST_CASE("a saga that was begun and not committed is undone, last step first", "[client]") {
  for (auto speaks : {dialect::belay, dialect::consul}) {
    virtual_cluster c(speaks);
    session_options quick;
    quick.lock_delay = milliseconds(0);
    session s(c.client, quick);
    session t(c.client, quick);
    REQUIRE(c.run(s.open(c.within(seconds(5)))));
    REQUIRE(c.run(t.open(c.within(seconds(5)))));
    std::vector<std::string> undone;
    auto one_undo = [](std::vector<std::string>& out, saga_step n) -> task<status> {
      out.push_back(n.saga_id + " " + n.what + " " + n.data);
      co_return nothing();
    };
    auto how = [&](saga_step n) { return one_undo(undone, std::move(n)); };
    saga first(s, "pay", how);
    REQUIRE(c.run(first.begin("o1", c.within(seconds(5)))));
    REQUIRE(c.run(first.step("debit", std::string("\xff\0x", 3), c.within(seconds(5)))));
    REQUIRE(c.run(first.step("ship", "2", c.within(seconds(5)))));
    c.server.destroy(s.id());
    c.pass(seconds(1));
    saga second(t, "pay", how);
    REQUIRE(c.run(second.begin("o2", c.within(seconds(30)))));
    CHECK(undone == std::vector<std::string>{"o1 ship 2", std::string("o1 debit \xff\0x", 12)});
    CHECK(c.run(first.commit(c.within(seconds(5)))).reason() == reason::session);
    REQUIRE(c.run(second.step("debit", "1", c.within(seconds(5)))));
    REQUIRE(c.run(second.commit(c.within(seconds(5)))));
    CHECK_FALSE(c.server.value("pay/.intent"));
    auto recovered = c.run(second.recover(c.within(seconds(5))));
    REQUIRE(recovered);
    CHECK(*recovered == 0);
    CHECK(undone.size() == 2);
    REQUIRE(c.run(second.begin("o3", c.within(seconds(5)))));
    REQUIRE(c.run(second.step("debit", "3", c.within(seconds(5)))));
    REQUIRE(c.run(second.roll_back(c.within(seconds(5)))));
    CHECK(undone.back() == "o3 debit 3");
  }
}

TEST_CASE("the operations of a session's end take effect when it ends", "[client]") {
  for (auto speaks : {dialect::belay, dialect::consul}) {
    virtual_cluster c(speaks);
    c.server.put("alive", "yes");
    session_options o;
    o.on_end = {end_operation::set("ended", "by itself"), end_operation::erase("alive")};
    session s(c.client, o);
    auto opened = c.run(s.open(c.within(seconds(5))));
    CHECK(opened.reason() == (speaks == dialect::belay ? reason::none : reason::unsupported));
    if (!opened)
      continue;
    CHECK_FALSE(c.server.value("ended"));
    REQUIRE(c.run(s.close(c.within(seconds(5)))));
    CHECK(c.server.value("ended") == "by itself");
    CHECK_FALSE(c.server.value("alive"));
  }
}

TEST_CASE("queues hold their guarantees under faults", "[client][faults]") {
  for (auto speaks : {dialect::belay, dialect::consul})
    check_seeds(10, [=](std::uint64_t seed) { return run_queue(speaks, seed, all_faults()); });
  check_seeds(5, run_waiting_taker);
}

TEST_CASE("guarded writes hold their guarantees under faults", "[client][faults]") {
  for (auto speaks : {dialect::belay, dialect::consul})
    check_seeds(15, [=](std::uint64_t seed) { return run_guarded(speaks, seed); });
}

TEST_CASE("sections are done as a whole or not at all under faults", "[client][faults]") {
  for (auto speaks : {dialect::belay, dialect::consul})
    check_seeds(15, [=](std::uint64_t seed) { return run_compensation(speaks, seed); });
}

TEST_CASE("known bugs of queues and guarded steps are found by seeds", "[client][faults]") {
  auto queue_run = [](std::uint64_t seed) { return run_queue(dialect::belay, seed, all_faults()); };
  auto guarded = [](std::uint64_t seed) { return run_guarded(dialect::belay, seed); };
  auto compensation = [](std::uint64_t seed) { return run_compensation(dialect::belay, seed); };
  check_that_found({
      {"queue_takes_unseen", queue_run},
      {"queue_acks_unheld", queue_run},
      {"queue_wakes_late", run_waiting_taker},
      {"put_without_fence", guarded},
      {"fence_unchecked", guarded},
      {"debt_rings_nobody", guarded},
      {"intent_ignored", compensation},
      {"intent_unguarded", compensation},
      {"undo_not_repeated", compensation},
  });
}
