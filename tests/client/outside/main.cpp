// A program outside the tree: every public header, the blocking client, and a coroutine.
#include <belay/barrier.hpp>
#include <belay/changes.hpp>
#include <belay/client.hpp>
#include <belay/clock_guard.hpp>
#include <belay/consumer.hpp>
#include <belay/counter.hpp>
#include <belay/diff.hpp>
#include <belay/election.hpp>
#include <belay/environment.hpp>
#include <belay/fenced.hpp>
#include <belay/keys.hpp>
#include <belay/latch.hpp>
#include <belay/lease.hpp>
#include <belay/loops/transport.hpp>
#include <belay/mirror.hpp>
#include <belay/mutex.hpp>
#include <belay/near_cache.hpp>
#include <belay/queue.hpp>
#include <belay/reconciler.hpp>
#include <belay/recursive_mutex.hpp>
#include <belay/result.hpp>
#include <belay/saga.hpp>
#include <belay/semaphore.hpp>
#include <belay/session.hpp>
#include <belay/shared_mutex.hpp>
#include <belay/striped_mutex.hpp>
#include <belay/task.hpp>
#include <belay/tree_lock.hpp>
#include <belay/version_vector.hpp>

#include <chrono>
#include <iostream>

using namespace std::chrono_literals;

belay::task<belay::result<int>> add_twice(belay::session& s, belay::deadline limit) {
  belay::counter n(s.env(), "n");
  auto one = co_await n.add(1, limit);
  if (!one)
    co_return one.error();
  auto two = co_await n.add(1, limit);
  if (!two)
    co_return two.error();
  co_return static_cast<int>(*two - *one);
}

int main(int argc, char** argv) {
  belay::client_options options;
  options.servers = {argc > 1 ? argv[1] : "http://127.0.0.1:1"};
  belay::client c(options);
  if (argc == 1) {
    auto unanswered = c.get("k", 300ms);
    std::cout << belay::name_of(unanswered.reason()) << "\n";
    return unanswered.reason() == belay::reason::unavailable ? 0 : 1;
  }
  auto added = c.run<int>(add_twice, 10s);
  auto lock = c.lock("outside").acquire(10s);
  auto leadership = c.election("outside/leader").campaign("me", 10s);
  auto written = c.put("outside/conf/colour", "red");
  auto shown = c.follow("outside/conf/");
  bool is_shown =
      written && shown.wait(10s) && shown.get("outside/conf/colour") && shown.get("outside/conf/colour")->found();
  return added && *added == 1 && lock && lock->safe() && leadership && leadership->safe() && is_shown ? 0 : 1;
}
