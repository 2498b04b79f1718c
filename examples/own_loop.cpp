// A program with its own io_context runs a job under a lock. It stops on a signal or a lost lock.
//
//   own_loop SERVER NAME STEPS   such as: own_loop http://127.0.0.1:8500 compaction 3
#include <belay/asio.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <iostream>
#include <string>

namespace {

namespace net = boost::asio;
using namespace net::experimental::awaitable_operators;
using namespace std::chrono_literals;
using net::use_awaitable;

net::awaitable<void> pause(std::chrono::milliseconds length) {
  auto on = co_await net::this_coro::executor;
  net::steady_timer timer(on, length);
  co_await timer.async_wait(use_awaitable);
}

/// The job. It checks that it still holds the lock before each step that must run only once.
net::awaitable<bool> work(const belay::asio::client_lease& lock, int steps) {
  for (int step = 1; step <= steps && lock.safe(); ++step) {
    std::cout << "step " << step << " under fence " << lock.fence() << std::endl;
    co_await pause(100ms);
  }
  co_return lock.safe();
}

net::awaitable<void> under_lock(belay::asio::client& c, std::string name, int steps, int& status) {
  auto lock = c.lock("jobs/" + name);
  auto held = co_await lock.acquire(30s, use_awaitable);
  if (!held) {
    std::cerr << "no lock: " << held.error().text() << "\n";
    co_return;
  }
  // Whichever ends first cancels the other.
  auto either = work(*held, steps) || held->wait_lost(use_awaitable);
  auto ended = co_await std::move(either);
  if (ended.index() == 1)
    std::cerr << "the lock was lost: " << std::get<1>(ended) << "\n";
  else
    status = std::get<0>(ended) ? 0 : 1;
  auto released = co_await held->release(5s, use_awaitable);
  std::cout << (released && status == 0 ? "done" : "not done") << std::endl;
}

net::awaitable<void> run(belay::client_options options, std::string name, int steps, int& status) {
  auto loop = co_await net::this_coro::executor;
  belay::asio::client c(loop, options);
  net::signal_set signals(loop, SIGINT, SIGTERM);
  auto either = under_lock(c, name, steps, status) || signals.async_wait(use_awaitable);
  co_await std::move(either);
  co_await c.close(1s, use_awaitable);
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 4)
    return 64; // usage
  belay::client_options options;
  options.servers = {argv[1]};
  int status = 1;
  net::io_context loop(1);
  net::co_spawn(loop, run(options, argv[2], std::stoi(argv[3]), status), net::detached);
  loop.run();
  return status;
}
