// The client for programs with an executor, on real servers.
#include "tests/client/servers.hpp"

#include <belay/asio.hpp>
#include <belay/near_cache.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <thread>

namespace asio_tests {

namespace net = boost::asio;
using namespace belay;
using namespace belay::client_tests;
using net::use_awaitable;
using steady = std::chrono::steady_clock;

milliseconds since(steady::time_point begun) {
  return std::chrono::duration_cast<milliseconds>(steady::now() - begun);
}

/// Runs the story on a context of its own until that has no work left.
template <class Story>
void play(Story story, const client_options& options) {
  net::io_context loop;
  std::exception_ptr thrown;
  net::co_spawn(loop, story(options), [&](std::exception_ptr e) { thrown = std::move(e); });
  loop.run_for(seconds(60));
  REQUIRE(loop.stopped());
  if (thrown)
    std::rethrow_exception(thrown);
}

net::awaitable<void> keys_and_locks(client_options options) {
  auto on = co_await net::this_coro::executor;
  belay::asio::client a(on, options);
  belay::asio::client b(on, options);
  status put = co_await a.put("k", "one", seconds(5), use_awaitable);
  CHECK(put);
  result<reading> seen = co_await b.get("k", seconds(5), use_awaitable);
  REQUIRE(seen);
  REQUIRE(seen->found);
  CHECK(seen->found->value == "one");
  change twice = [](const std::optional<entry>& now) { return std::optional(now->value + now->value); };
  result<std::string> updated = co_await b.update("k", twice, seconds(5), use_awaitable);
  REQUIRE(updated);
  CHECK(*updated == "oneone");
  change throws = [](const std::optional<entry>&) -> std::optional<std::string> { throw std::runtime_error("mine"); };
  bool caught = false;
  try {
    co_await b.update("k", throws, seconds(5), use_awaitable);
  } catch (const std::runtime_error& e) {
    caught = e.what() == std::string("mine");
  }
  CHECK(caught);

  auto lock = a.lock("jobs/x");
  result<belay::asio::client_lease> first = co_await lock.acquire(seconds(10), use_awaitable);
  REQUIRE(first);
  CHECK(first->safe());
  auto begun = steady::now();
  auto other = b.lock("jobs/x");
  result<belay::asio::client_lease> late = co_await other.acquire(seconds(1), use_awaitable);
  CHECK(late.reason() == reason::deadline);
  CHECK(belay::asio::code_of(late).message() == "refused: deadline");
  CHECK_FALSE(belay::asio::is_unknown(belay::asio::code_of(late)));
  CHECK(since(begun) > milliseconds(700));
  CHECK(since(begun) < seconds(4));
  status released = co_await first->release(seconds(5), use_awaitable);
  CHECK(released);
  CHECK_FALSE(first->safe());
  result<belay::asio::client_lease> second = co_await other.acquire(seconds(10), use_awaitable);
  REQUIRE(second);
  CHECK(second->fence() > first->fence());
  // A lease that goes out of scope is released.
  { belay::asio::client_lease gone = std::move(*second); }
  result<belay::asio::client_lease> third = co_await lock.acquire(seconds(10), use_awaitable);
  CHECK(third);

  auto pool = a.semaphore("pool", 1);
  result<belay::asio::client_lease> permit = co_await pool.acquire(seconds(10), use_awaitable);
  CHECK(permit);
  auto same_pool = b.semaphore("pool", 1);
  result<belay::asio::client_lease> none = co_await same_pool.acquire(milliseconds(500), use_awaitable);
  CHECK(none.reason() == reason::deadline);

  result<belay::asio::client_lease> leadership = co_await a.campaign("leader", "a", seconds(10), use_awaitable);
  REQUIRE(leadership);
  auto next = b.campaign("leader", "b", seconds(20), net::use_future);
  net::steady_timer soon(on, milliseconds(500));
  co_await soon.async_wait(use_awaitable);
  status handed = co_await a.transfer(*leadership, "leader", seconds(5), use_awaitable);
  CHECK(handed);
  status closed = co_await a.close(seconds(5), use_awaitable);
  CHECK(closed);
  CHECK_FALSE(third->safe());
  result<reading> over = co_await a.get("k", seconds(5), use_awaitable);
  CHECK(over.reason() == reason::closed);
  result<belay::asio::client_lease> has = next.get();
  CHECK(has);
}

task<result<std::string>> nested(session& s, deadline limit) {
  mutex one(s, "one");
  result<lease> a = co_await one.acquire(limit);
  mutex two(s, "two");
  result<lease> b = co_await two.acquire(limit);
  if (!a || !b)
    co_return std::string("not both");
  co_return std::string("both");
}

/// Ignores its limit.
task<result<std::string>> stubborn(session& s, deadline) {
  auto late = s.env().now() + seconds(30);
  co_await sleep_until(s.env(), late);
  co_return std::string("late");
}

net::awaitable<void> own_coroutines(client_options options) {
  auto on = co_await net::this_coro::executor;
  belay::asio::client c(on, options);
  result<std::string> both = co_await c.run<std::string>(nested, seconds(10), use_awaitable);
  REQUIRE(both);
  CHECK(*both == "both");
  auto begun = steady::now();
  result<std::string> late = co_await c.run<std::string>(stubborn, milliseconds(300), use_awaitable);
  CHECK(late.unknown());
  CHECK(since(begun) < seconds(5));
  // A recipe without a call, on the client's executor.
  co_await net::post(net::bind_executor(c.get_executor(), use_awaitable));
  near_cache conf(c.env(), "conf/");
  conf.start();
  status put = co_await c.put("conf/x", "1", seconds(5), use_awaitable);
  CHECK(put);
  for (int i = 0; i < 100 && !conf.table(); ++i) {
    net::steady_timer soon(on, milliseconds(50));
    co_await soon.async_wait(use_awaitable);
  }
  CHECK(conf.table());
  co_await net::post(net::bind_executor(c.get_executor(), use_awaitable));
  conf.stop();
}

net::awaitable<void> cancelled_waits(client_options options) {
  using namespace net::experimental::awaitable_operators;
  auto on = co_await net::this_coro::executor;
  belay::asio::client a(on, options);
  belay::asio::client b(on, options);
  auto lock = a.lock("x");
  result<belay::asio::client_lease> first = co_await lock.acquire(seconds(10), use_awaitable);
  REQUIRE(first);
  auto other = b.lock("x");
  auto begun = steady::now();
  net::steady_timer soon(on, milliseconds(300));
  auto either = other.acquire(seconds(30), use_awaitable) || soon.async_wait(use_awaitable);
  auto which = co_await std::move(either);
  CHECK(which.index() == 1);
  CHECK(since(begun) < seconds(5));
  // The cancelled waiter has left the queue: the next one gets the lock.
  net::cancellation_signal never;
  std::optional<result<belay::asio::client_lease>> reported;
  other.acquire(seconds(30), net::bind_cancellation_slot(never.slot(), [&](result<belay::asio::client_lease> r) {
                  reported.emplace(std::move(r));
                }));
  net::steady_timer waiting_over(on, milliseconds(300));
  co_await waiting_over.async_wait(use_awaitable);
  CHECK_FALSE(reported);
  status released = co_await first->release(seconds(5), use_awaitable);
  CHECK(released);
  for (int i = 0; i < 100 && !reported; ++i) {
    net::steady_timer next(on, milliseconds(50));
    co_await next.async_wait(use_awaitable);
  }
  REQUIRE(reported);
  CHECK(*reported);
  // A wait for a loss can be cancelled, and ends when the lease is released.
  net::cancellation_signal cancel;
  std::vector<std::string> why;
  auto& held = **reported;
  held.wait_lost(net::bind_cancellation_slot(cancel.slot(), [&](const std::string& w) { why.push_back("1" + w); }));
  held.wait_lost([&](const std::string& w) { why.push_back("2" + w); });
  cancel.emit(net::cancellation_type::total);
  net::steady_timer later(on, milliseconds(200));
  co_await later.async_wait(use_awaitable);
  CHECK(why == std::vector<std::string>{"1"});
  reported.reset();
  net::steady_timer last(on, milliseconds(200));
  co_await last.async_wait(use_awaitable);
  CHECK(why == std::vector<std::string>{"1", "2"});
}

/// Tests how a holder is notified of the end of its lease.
net::awaitable<void> losses(client_options options, harness::server_cluster& cluster) {
  auto on = co_await net::this_coro::executor;
  belay::asio::client c(on, options);
  auto lock = c.lock("x");
  result<belay::asio::client_lease> first = co_await lock.acquire(seconds(10), use_awaitable);
  REQUIRE(first);
  bool requested = false;
  std::stop_callback when_lost(first->lost(), [&] { requested = true; });
  auto sessions = boost::json::parse(cluster.node(0).get("/v1/session/list").body).as_array();
  for (const auto& s : sessions)
    cluster.node(0).put("/v1/session/destroy/" + std::string(s.at("ID").as_string()), "");
  std::string why = co_await first->wait_lost(use_awaitable);
  CHECK(why == "destroyed");
  CHECK(requested);
  CHECK_FALSE(first->safe());
  // A wait for the loss of a lost lease completes at once.
  std::string again = co_await first->wait_lost(use_awaitable);
  CHECK(again == "destroyed");
  result<belay::asio::client_lease> second = co_await lock.acquire(seconds(20), use_awaitable);
  REQUIRE(second);
  // A server that hangs: the loss is reported after the TTL, and calls end at their limits.
  cluster.node(0).pause();
  auto begun = steady::now();
  result<reading> nothing_came = co_await c.get("k", milliseconds(500), use_awaitable);
  CHECK(nothing_came.refused());
  status lost_write = co_await c.put("k", "v", milliseconds(500), use_awaitable);
  CHECK(lost_write.unknown());
  CHECK(belay::asio::is_unknown(belay::asio::code_of(lost_write)));
  CHECK(since(begun) < seconds(6));
  std::string late = co_await second->wait_lost(use_awaitable);
  CHECK(late == "no renewal was acknowledged in time");
  CHECK(since(begun) < 3 * options.session.ttl);
  cluster.node(0).resume();
}

/// Counts the coroutine frames that were destroyed.
class frame {
public:
  explicit frame(int& destroyed) : destroyed_(destroyed) {}
  ~frame() { ++destroyed_; }
  frame(const frame&) = delete;
  frame& operator=(const frame&) = delete;

private:
  int& destroyed_;
};

net::awaitable<void> left_waiting(client_options options, int& destroyed) {
  frame here(destroyed);
  auto on = co_await net::this_coro::executor;
  belay::asio::client c(on, options);
  auto lock = c.lock("x");
  result<belay::asio::client_lease> first = co_await lock.acquire(seconds(10), use_awaitable);
  REQUIRE(first);
  auto same = c.lock("x");
  result<belay::asio::client_lease> never = co_await same.acquire(seconds(60), use_awaitable);
  FAIL_CHECK("granted twice");
}

net::awaitable<void> left_watching(client_options options, int& destroyed) {
  frame here(destroyed);
  auto on = co_await net::this_coro::executor;
  belay::asio::client c(on, options);
  auto lock = c.lock("y");
  result<belay::asio::client_lease> first = co_await lock.acquire(seconds(10), use_awaitable);
  REQUIRE(first);
  std::string why = co_await first->wait_lost(use_awaitable);
  FAIL_CHECK("lost: " + why);
}

} // namespace asio_tests

using namespace asio_tests;

TEST_CASE("asio: keys, locks, permits and leaderships on one io_context, with the server alone", "[client][asio]") {
  auto cluster = started(our_server(), 1);
  play(keys_and_locks, options_for(*cluster));
  play(own_coroutines, options_for(*cluster));
  CHECK(cluster->node(0).get("/v1/session/list").body == "[]");
}

TEST_CASE("asio: a cancelled waiter leaves the queue", "[client][asio]") {
  auto cluster = started(our_server(), 1);
  play(cancelled_waits, options_for(*cluster));
}

// Threads of a pool share two clients. At most one of all these threads is in the section.
TEST_CASE("asio: on a pool of threads, with futures", "[client][asio]") {
  auto cluster = started(our_server(), 1);
  net::thread_pool pool(4);
  {
    belay::asio::client a(pool, options_for(*cluster));
    belay::asio::client b(pool, options_for(*cluster));
    std::atomic<int> inside = 0;
    std::atomic<int> rounds = 0;
    std::atomic<bool> two = false;
    std::atomic<int> failed = 0;
    std::vector<std::thread> threads;
    threads.reserve(6);
    for (int i = 0; i < 6; ++i)
      threads.emplace_back([&, i] {
        auto lock = (i % 2 ? a : b).lock("section");
        for (int n = 0; n < 10; ++n) {
          auto held = lock.acquire(seconds(30), net::use_future).get();
          if (!held)
            continue;
          two = two || ++inside > 1;
          std::this_thread::sleep_for(milliseconds(2));
          --inside;
          ++rounds;
          if (n % 2 && !held->release(seconds(5), net::use_future).get())
            ++failed;
        }
      });
    for (auto& t : threads)
      t.join();
    CHECK_FALSE(two);
    CHECK(rounds == 60);
    CHECK(failed == 0);
  }
  pool.join();
  CHECK(cluster->node(0).get("/v1/session/list").body == "[]");
}

TEST_CASE("asio: losses are reported, and calls end at their deadlines", "[client][asio]") {
  auto cluster = started(our_server(), 1);
  play([&](const client_options& o) { return losses(o, *cluster); }, options_for(*cluster, milliseconds(3000)));
}

TEST_CASE("asio: a client that is destroyed ends its waiting calls, and its session", "[client][asio]") {
  auto cluster = started(our_server(), 1);
  net::io_context loop;
  auto c = std::make_optional<belay::asio::client>(loop, options_for(*cluster));
  std::optional<belay::asio::client_lease> first;
  c->lock("x").acquire(seconds(10), [&](result<belay::asio::client_lease> r) {
    REQUIRE(r);
    first.emplace(std::move(*r));
  });
  while (!first)
    loop.run_one();
  std::vector<reason> reported;
  c->lock("x").acquire(seconds(60),
                       [&](const result<belay::asio::client_lease>& r) { reported.push_back(r.reason()); });
  loop.run_for(milliseconds(200));
  CHECK(reported.empty());
  c.reset();
  auto begun = steady::now();
  loop.run_for(seconds(20));
  CHECK(loop.stopped());
  CHECK(since(begun) < seconds(5));
  CHECK(reported == std::vector<reason>{reason::closed});
  CHECK_FALSE(first->safe());
  CHECK(first->lost_reason() == "the client was closed");
  CHECK(cluster->node(0).get("/v1/session/list").body == "[]");
}

// The context is destroyed while a waiting coroutine has a client and its leases in its frame.
TEST_CASE("asio: a context that is destroyed destroys the calls that wait in it", "[client][asio]") {
  auto cluster = started(our_server(), 1);
  int destroyed = 0;
  {
    net::io_context loop;
    net::co_spawn(loop, left_waiting(options_for(*cluster), destroyed), net::detached);
    net::co_spawn(loop, left_watching(options_for(*cluster), destroyed), net::detached);
    loop.run_for(seconds(1));
    CHECK(destroyed == 0);
  }
  CHECK(destroyed == 2);
  // The clients were not closed: their sessions end by their TTLs.
  CHECK(cluster->node(0).get("/v1/session/list").body != "[]");
}

TEST_CASE("asio: no server listens, and options are wrong", "[client][asio]") {
  net::io_context loop;
  client_options nobody;
  nobody.servers = {"http://127.0.0.1:1"};
  client_options wrong;
  wrong.servers = {"ftp://x"};
  std::vector<reason> reported;
  {
    belay::asio::client a(loop, nobody);
    belay::asio::client b(loop, wrong);
    a.put("k", "v", milliseconds(500), [&](const status& s) { reported.push_back(s.reason()); });
    loop.run();
    loop.restart();
    b.get("k", seconds(5), [&](const result<reading>& r) { reported.push_back(r.reason()); });
    loop.run();
    loop.restart();
  }
  loop.run_for(seconds(5));
  CHECK(loop.stopped());
  CHECK(reported == std::vector<reason>{reason::unavailable, reason::invalid});
}
