// A loop that callers run while they wait: which thread runs what. Needs no server.
#include "client/asio/shared_loop.hpp"

#include <boost/asio/post.hpp>

#include <catch2/catch.hpp>

#include <future>

using namespace belay;
using belay::detail::shared_loop;
using belay::detail::whose;
using namespace std::chrono_literals;

namespace {

class running_loop {
public:
  running_loop() { it.start(); }
  ~running_loop() {
    it.context().stop();
    it.join();
  }
  void post(std::function<void()> what) { boost::asio::post(it.context(), std::move(what)); }
  /// Acts like a call that has ended: callers may run the loop now.
  void leave_to_callers() {
    std::promise<void> left;
    post([&] {
      it.call_ended();
      left.set_value();
    });
    left.get_future().wait();
  }
  /// Runs `begin` on this thread, even if the loop's own thread takes the loop first.
  void run_here(const std::function<void()>& begin, const std::function<bool()>& done) {
    while (!it.run_here(begin, done))
      leave_to_callers();
  }
  std::thread::id own() {
    std::promise<std::thread::id> id;
    it.post_to_own([&] { id.set_value(std::this_thread::get_id()); });
    return id.get_future().get();
  }

  shared_loop it;
};

} // namespace

TEST_CASE("a caller runs the loop until its call is done", "[client][loop]") {
  running_loop loop;
  auto own = loop.own();
  // On a busy machine the loop's own thread may take over before a call is done, and runs the rest.
  int all_of_it = 0;
  for (int i = 0; i < 1000 && all_of_it < 3; ++i) {
    std::thread::id first, last;
    std::atomic<bool> done = false;
    loop.run_here(
        [&] {
          first = std::this_thread::get_id();
          CHECK(loop.it.runs_here());
          loop.post([&] {
            last = std::this_thread::get_id();
            done = true;
          });
        },
        [&] { return done.load(); });
    while (!done)
      std::this_thread::yield();
    CHECK(first == std::this_thread::get_id());
    CHECK((last == first || last == own));
    all_of_it += last == first ? 1 : 0;
  }
  CHECK(all_of_it == 3);
  CHECK_FALSE(loop.it.runs_here());
  // Afterwards its own thread runs the loop, without being called.
  std::promise<std::thread::id> id;
  loop.post([&] { id.set_value(std::this_thread::get_id()); });
  CHECK(id.get_future().get() == own);
}

TEST_CASE("a program that blocks the loop for long is interrupted, and its calls continue", "[client][loop]") {
  running_loop loop;
  std::promise<std::thread::id> done;
  std::function<void()> tick;
  std::thread::id first;
  auto own = loop.own();
  tick = [&] {
    if (std::this_thread::get_id() != first)
      done.set_value(std::this_thread::get_id());
    else
      loop.post(tick);
  };
  loop.run_here(
      [&] {
        first = std::this_thread::get_id();
        tick();
      },
      [] { return false; });
  CHECK(done.get_future().get() == own);
}

TEST_CASE("the program's code runs on the loop's own thread, while a caller runs the loop too", "[client][loop]") {
  running_loop loop;
  auto own = loop.own();
  std::promise<std::thread::id> id;
  loop.run_here([&] { loop.it.post_to_own([&] { id.set_value(std::this_thread::get_id()); }); }, [] { return false; });
  CHECK(id.get_future().get() == own);
}

TEST_CASE("while the program's code runs, no caller runs the loop", "[client][loop]") {
  running_loop loop;
  bool begun = false;
  auto begin = [&] { begun = true; };
  {
    shared_loop::waiter waits(loop.it, whose::program);
    for (int i = 0; i < 5; ++i) {
      loop.leave_to_callers();
      CHECK_FALSE(loop.it.run_here(begin, [] { return true; }));
    }
    CHECK_FALSE(begun);
  }
  loop.run_here(begin, [] { return true; });
  CHECK(begun);
}

TEST_CASE("the loop's own thread does not leave it while a thread waits for it", "[client][loop]") {
  running_loop loop;
  shared_loop::waiter waits(loop.it, whose::library);
  for (int i = 0; i < 5; ++i) {
    loop.leave_to_callers();
    std::promise<std::thread::id> id;
    loop.post([&] { id.set_value(std::this_thread::get_id()); });
    CHECK(id.get_future().get() == loop.own());
  }
}
