#include "tests/unit/client/virtual_cluster.hpp"

#include <stdexcept>
#include <string>

using namespace belay;
using namespace belay::client_tests;

namespace {

task<int> number(int n) {
  co_return n;
}

task<std::int64_t> sum_of_ready(int rounds) {
  std::int64_t sum = 0;
  for (int i = 0; i < rounds; ++i) {
    int n = co_await number(1);
    sum += n;
  }
  co_return sum;
}

task<int> throws() {
  co_await number(1);
  throw std::runtime_error("no");
}

task<std::string> catches() {
  std::string what;
  try {
    int n = co_await throws();
    what = std::to_string(n);
  } catch (const std::runtime_error& e) {
    what = e.what();
  }
  co_return what;
}

/// Counts its live instances.
struct counted {
  explicit counted(int& n) : n_(n) { ++n_; }
  ~counted() { --n_; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  int& n_;
};

task<int> sleeps(environment& env, milliseconds length, int& alive) {
  counted here(alive);
  auto until = env.now() + length;
  bool reached = co_await sleep_until(env, until);
  if (!reached)
    co_return 0;
  co_return 1;
}

task<int> nested(environment& env, int depth, int& alive) {
  counted here(alive);
  if (depth == 0) {
    int n = co_await sleeps(env, milliseconds(5), alive);
    co_return n;
  }
  int below = co_await nested(env, depth - 1, alive);
  int here_too = co_await sleeps(env, milliseconds(1), alive);
  co_return below + here_too;
}

} // namespace

TEST_CASE("a task does nothing before it is started, and a loop over tasks that are ready needs no stack", "[client]") {
  auto t = sum_of_ready(1'000'000);
  CHECK_FALSE(t.done());
  t.start();
  REQUIRE(t.done());
  CHECK(t.take() == 1'000'000);
}

TEST_CASE("an exception of a task reaches the awaiting one", "[client]") {
  auto t = catches();
  t.start();
  REQUIRE(t.done());
  CHECK(t.take() == "no");
  auto alone = throws();
  alone.start();
  REQUIRE(alone.done());
  CHECK_THROWS_AS(alone.take(), std::runtime_error);
}

// A nested task may be destroyed at every step: nothing of it is left.
TEST_CASE("a task may be destroyed at any await", "[client]") {
  for (int steps = 0;; ++steps) {
    virtual_cluster c;
    int alive = 0;
    auto t = nested(c.client, 20, alive);
    t.start();
    for (int i = 0; i < steps && !t.done(); ++i)
      c.time.step();
    bool finished = t.done();
    if (finished) {
      CHECK(t.take() == 21);
      CHECK(alive == 0);
      break;
    }
    CHECK(alive > 0);
    t.reset();
    CHECK(alive == 0);
    CHECK(c.client.waiting() == 0);
    while (c.time.step()) {
    }
  }
}

TEST_CASE("a stop source ends the waits under it, through the loop, and later waits at once", "[client]") {
  virtual_cluster c;
  stop_source stop;
  auto waits = [](environment& env, stop_source& s, int& ended) -> task<void> {
    auto until = env.now() + std::chrono::hours(1);
    bool reached = co_await sleep_until(env, until, &s);
    ended += reached ? 100 : 1;
  };
  int ended = 0;
  auto one = waits(c.client, stop, ended);
  auto two = waits(c.client, stop, ended);
  one.start();
  two.start();
  stop.stop();
  CHECK(ended == 0);
  c.time.step();
  c.time.step();
  CHECK(ended == 2);
  auto three = waits(c.client, stop, ended);
  three.start();
  CHECK(ended == 3);
  stop.reset();
  auto four = waits(c.client, stop, ended);
  four.start();
  stop.wake_all();
  auto five = waits(c.client, stop, ended);
  five.start();
  c.time.run_until(c.time.now() + minutes(1), [] { return false; });
  CHECK(ended == 4);
}

TEST_CASE("names are escaped in paths and queries", "[client]") {
  request q("GET", request::path_of("/v1/kv/", "a b/c?d#e%"));
  q.query("session", "x&y=z").query("consistent");
  CHECK(q.target() == "/v1/kv/a%20b/c%3Fd%23e%25?session=x%26y%3Dz&consistent");
}

TEST_CASE("responses are classified: rejected, or unknown", "[client]") {
  CHECK(answer::none(true, "lost").to_error(true).outcome() == outcome::unknown);
  CHECK(answer::none(true, "lost").to_error(false).outcome() == outcome::refused);
  CHECK(answer::none(false, "no server responds").to_error(true).reason() == reason::unavailable);
  CHECK(answer(500, "leadership lost while committing log").to_error(true).outcome() == outcome::unknown);
  CHECK(answer(500, "invalid session \"x\"").to_error(true).reason() == reason::session);
  CHECK(answer(500, "Invalid Session TTL '1', must be between [10s=24h0m0s]").to_error(true).outcome() ==
        outcome::refused);
  CHECK(answer(403, "Permission denied").to_error(true).reason() == reason::forbidden);
  CHECK(answer(429, "").to_error(true).reason() == reason::limit);
  answer delayed(200, "false");
  delayed.add_header("x-belay-reason", "lock-delay");
  delayed.add_header("X-Belay-Retry-After-Ms", "1500");
  CHECK(delayed.to_error(true).reason() == reason::lock_delay);
  CHECK(delayed.to_error(true).retry_after() == milliseconds(1500));
}
