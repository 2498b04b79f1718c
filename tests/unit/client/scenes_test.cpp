// Scenarios from published articles: what goes wrong with a hand-made lock, tried with the recipes.
// docs/internals/scenes.md has the figures, which `test_client "[scenes]" -s` prints.
#include "tests/unit/client/virtual_cluster.hpp"

#include <belay/clock_guard.hpp>
#include <belay/consumer.hpp>
#include <belay/diff.hpp>
#include <belay/fenced.hpp>
#include <belay/mutex.hpp>
#include <belay/near_cache.hpp>
#include <belay/saga.hpp>
#include <belay/semaphore.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

using namespace belay;
using namespace belay::client_tests;

namespace {

session_options without_delay() {
  session_options o;
  o.ttl = milliseconds(10'000);
  o.lock_delay = milliseconds(0);
  return o;
}

milliseconds in_ms(std::chrono::nanoseconds t) {
  return std::chrono::duration_cast<milliseconds>(t);
}

/// Takes a slot a few times, and works in it for a moment.
task<void> use_slots(environment& env, session& s, int& inside, int& inside_max, int& grants) {
  for (int i = 0; i < 5;) {
    semaphore slots(s, "slots", 3);
    deadline limit(env.now() + minutes(5));
    result<lease> slot = co_await slots.acquire(1, limit);
    if (!slot)
      continue;
    inside_max = std::max(inside_max, ++inside);
    ++grants;
    ++i;
    auto later = env.now() + milliseconds(50 + env.random(100));
    co_await sleep_until(env, later);
    --inside;
    deadline soon(env.now() + seconds(2));
    co_await slot->release(soon);
  }
}

task<status> note_undo(std::vector<std::string>& undone, saga_step step) {
  undone.push_back(step.what);
  co_return nothing();
}

} // namespace

TEST_CASE("scene: ten clients and three slots", "[client][scenes]") {
  for (auto speaks : {dialect::belay, dialect::consul}) {
    virtual_cluster c(speaks);
    std::vector<std::unique_ptr<virtual_time::process>> machines;
    std::vector<std::unique_ptr<session>> sessions;
    std::vector<task<void>> all;
    int inside = 0, inside_max = 0, grants = 0;
    for (int i = 0; i < 10; ++i) {
      machines.push_back(std::make_unique<virtual_time::process>(c.time, c.server));
      sessions.push_back(std::make_unique<session>(*machines.back(), without_delay()));
      REQUIRE(c.run(sessions.back()->open(c.within(seconds(5)))));
    }
    auto begun = c.time.now();
    for (std::size_t i = 0; i < 10; ++i) {
      all.push_back(use_slots(*machines[i], *sessions[i], inside, inside_max, grants));
      all.back().start();
    }
    auto done = [&] { return std::all_of(all.begin(), all.end(), [](auto& t) { return t.done(); }); };
    REQUIRE(c.time.run_until(c.time.now() + minutes(10), done));
    INFO((speaks == dialect::belay ? "Belay: " : "Consul: ")
         << grants << " grants in " << in_ms(c.time.now() - begun).count() << " ms, at most " << inside_max
         << " at once");
    CHECK(grants == 50);
    CHECK(inside_max == 3);
  }
}

TEST_CASE("scene: the holder of a lock is paused, and continues when another client has it", "[client][scenes]") {
  // Split brain: the former holder believes that it holds the lock. The resource compares tokens.
  virtual_cluster c;
  virtual_time::process other(c.time, c.server);
  session s(c.client, without_delay());
  session t(other, without_delay());
  REQUIRE(c.run(s.open(c.within(seconds(5)))));
  REQUIRE(c.run(t.open(c.within(seconds(5)))));
  fenced<std::string> store;
  mutex first(s, "m");
  mutex second(t, "m");
  auto mine = c.run(first.acquire(c.within(seconds(5))));
  REQUIRE(mine);
  REQUIRE(store.apply(mine->fence(), [](std::string& value) { value = "first"; }));
  auto believed_until = mine->safe_until();
  c.client.pause(seconds(60));
  auto theirs = c.run(second.acquire(c.within(minutes(1))));
  REQUIRE(theirs);
  auto gap = c.time.now() - believed_until;
  REQUIRE(store.apply(theirs->fence(), [](std::string& value) { value = "second"; }));
  auto late = store.apply(mine->fence(), [](std::string& value) { value = "too late"; });
  INFO("the first may have believed in his lock until " << in_ms(gap).count() << " ms before the second got it");
  CHECK(late.reason() == reason::held);
  CHECK(store.value() == "second");
  CHECK(gap.count() >= 0);
  c.pass(seconds(60));
  CHECK_FALSE(mine->safe());
}

TEST_CASE("scene: renewals fail half way through an order", "[client][scenes]") {
  for (auto speaks : {dialect::belay, dialect::consul}) {
    virtual_cluster c(speaks);
    virtual_time::process other(c.time, c.server);
    session s(c.client, without_delay());
    session t(other, without_delay());
    REQUIRE(c.run(s.open(c.within(seconds(5)))));
    REQUIRE(c.run(t.open(c.within(seconds(5)))));
    std::vector<std::string> undone;
    auto how = [&](saga_step step) { return note_undo(undone, std::move(step)); };
    saga first(s, "order", how);
    saga second(t, "order", how);
    REQUIRE(c.run(first.begin("o1", c.within(seconds(5)))));
    REQUIRE(c.run(first.step("reserve", "1", c.within(seconds(5)))));
    REQUIRE(c.run(first.step("charge", "2", c.within(seconds(5)))));
    c.client.pause(seconds(60));
    auto begun = c.time.now();
    REQUIRE(c.run(second.begin("o2", c.within(minutes(1)))));
    INFO((speaks == dialect::belay ? "Belay: " : "Consul: ")
         << "undone " << in_ms(c.time.now() - begun).count() << " ms after the first stood still");
    CHECK(undone == std::vector<std::string>{"charge", "reserve"});
    c.pass(seconds(60));
    // It is back, and must not continue what was undone.
    CHECK_FALSE(c.run(first.step("ship", "3", c.within(seconds(5)))));
    CHECK_FALSE(c.run(first.commit(c.within(seconds(5)))));
    REQUIRE(c.run(second.commit(c.within(seconds(5)))));
    auto left = c.run(second.recover(c.within(seconds(5))));
    REQUIRE(left);
    CHECK(*left == 0);
    CHECK(undone.size() == 2);
  }
}

TEST_CASE("scene: a consumer of deletes dies before it has acknowledged", "[client][scenes]") {
  virtual_cluster c;
  virtual_time::process other(c.time, c.server);
  auto s = std::make_unique<session>(c.client, without_delay());
  session t(other, without_delay());
  REQUIRE(c.run(s->open(c.within(seconds(5)))));
  REQUIRE(c.run(t.open(c.within(seconds(5)))));
  auto member = std::make_unique<consumer>(*s, "in/", "group");
  c.server.put("in/a", "1");
  auto before = c.run(member->next(c.within(seconds(5))));
  REQUIRE(before);
  REQUIRE(c.run(member->ack(before->cursor, c.within(seconds(5)))));
  c.server.erase("in/a");
  auto seen = c.run(member->next(c.within(seconds(5))));
  REQUIRE(seen);
  REQUIRE(seen->changes.front().key == "in/a");
  auto died = c.time.now();
  member.reset();
  s.reset();
  consumer next(t, "in/", "group");
  auto again = c.run(next.next(c.within(minutes(2))));
  REQUIRE(again);
  INFO("delivered again " << in_ms(c.time.now() - died).count() << " ms after its consumer died");
  CHECK(again->changes.front().key == "in/a");
  CHECK(again->cursor == seen->cursor);
  CHECK(again->tries == 2);
  consumer::writes effect = {{"cleaned/a", "once"}};
  REQUIRE(c.run(next.ack(again->cursor, c.within(seconds(5)), effect)));
  CHECK(c.server.value("cleaned/a") == "once");
  CHECK(c.run(next.ack(again->cursor, c.within(seconds(5)), effect)).reason() == reason::session);
  CHECK(c.run(next.next(c.within(minutes(2)))).reason() == reason::deadline);
}

TEST_CASE("scene: a step of the clock by 600 ms", "[client][scenes]") {
  virtual_cluster c;
  milliseconds step{0};
  clock_guard_options strict;
  strict.distrust_offset = milliseconds(500);
  strict.wall = [&] {
    return std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::microseconds>(c.time.now().time_since_epoch() + step));
  };
  clock_guard guard(c.client, strict);
  auto o = without_delay();
  o.guard = &guard;
  session s(c.client, o);
  REQUIRE(guard.look() == clock_trust::trusted);
  REQUIRE(c.run(s.open(c.within(seconds(5)))));
  c.pass(seconds(30));
  REQUIRE(guard.look() == clock_trust::trusted);
  REQUIRE(s.state() == session_state::live);
  step = milliseconds(600);
  REQUIRE(guard.look() == clock_trust::distrusted);
  auto renewed = c.server.requests("PUT /v1/session/renew");
  auto begun = c.time.now();
  while (s.state() != session_state::lost && c.time.now() < begun + minutes(1))
    c.pass(milliseconds(100));
  INFO("no renewal after the step; the session was given up " << in_ms(c.time.now() - begun).count() << " ms later");
  CHECK(c.server.requests("PUT /v1/session/renew") == renewed);
  CHECK(s.state() == session_state::lost);
}

namespace {

task<void> read_one(near_cache& cache, deadline limit, int& found) {
  auto table = co_await cache.read(limit);
  if (table && (*table)->find("conf/hot"))
    ++found;
}

} // namespace

TEST_CASE("scene: five thousand clients read a key whose cached copy has expired", "[client][scenes]") {
  virtual_cluster c;
  c.server.put("conf/hot", "value");
  near_cache cache(c.client, "conf/");
  int found = 0;
  std::vector<task<void>> readers;
  for (int i = 0; i < 5000; ++i) {
    readers.push_back(read_one(cache, c.within(seconds(5)), found));
    readers.back().start();
  }
  auto before = c.server.requests("GET /v1/kv/conf/");
  cache.start();
  REQUIRE(c.time.run_until(c.time.now() + seconds(10), [&] { return found == 5000; }));
  auto request_count = c.server.requests("GET /v1/kv/conf/") - before;
  INFO(request_count << " requests for 5,000 readers");
  // The second one waits for a change.
  CHECK(request_count <= 2);
}

TEST_CASE("scene: a copy that has diverged in both ways", "[client][scenes]") {
  virtual_cluster c;
  for (int i = 0; i < 100; ++i) {
    c.server.put("original/" + std::to_string(i), "v");
    c.server.put("copy/" + std::to_string(i), "v");
  }
  c.server.erase("original/7"); // only the copy has it
  c.server.erase("copy/42");    // the copy has lost it
  auto found = c.run(diff(c.client, "original/", c.client, "copy/", c.within(minutes(1))));
  REQUIRE(found);
  REQUIRE(found->size() == 2);
  auto is = [&](const char* key, difference_kind kind) {
    return std::any_of(found->begin(), found->end(),
                       [&](const difference& d) { return d.key == key && d.kind == kind; });
  };
  CHECK(is("7", difference_kind::missing_delete));
  CHECK(is("42", difference_kind::phantom_undelete));
}
