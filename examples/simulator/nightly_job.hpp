#pragma once
// The code under test: a job on several machines, one of which at a time may write to a ledger. It
// uses only belay::environment, so it is the same in production (belay::client::run) and in tests.

#include <belay/mutex.hpp>

#include <chrono>
#include <string>

/// Whether writes carry the fencing token, so that the ledger can reject former holders. A process
/// may pause between a check of its lock and a write, which would be accepted without a token.
inline constexpr bool sends_fence = false; // the bug; true fixes it

/// Locks, writes pages to the ledger `where`, and unlocks, repeatedly. `me` names the writer in it.
inline belay::task<> nightly_job(belay::environment& env, std::string where, std::string me) {
  using namespace std::chrono_literals;
  belay::session_options options;
  options.ttl = 3s;
  options.lock_delay = 0s;
  belay::session s(env, options);
  belay::mutex lock(s, "jobs/nightly");
  for (int run = 1;; ++run) {
    if (!s.safe()) {
      auto opened = co_await s.open(belay::deadline(env.now() + 10s));
      if (!opened)
        co_await belay::sleep_until(env, env.now() + 500ms);
    }
    auto held = co_await lock.acquire(belay::deadline(env.now() + 20s));
    if (!held) {
      co_await belay::sleep_until(env, env.now() + 200ms);
      continue;
    }
    // Longer than a third of the TTL: the session is renewed meanwhile.
    for (int page = 1; page <= 3 && held->safe(); ++page) {
      belay::request write("PUT", where);
      write.query("run", me + "." + std::to_string(run)).query("page", std::to_string(page));
      if (sends_fence)
        write.query("fence", std::to_string(held->fence()));
      auto written = co_await belay::ask(env, write, env.now() + 2s);
      if (written.status() != 200)
        break;
      co_await belay::sleep_until(env, env.now() + 600ms);
    }
    co_await held->release(belay::deadline(env.now() + 2s));
    co_await belay::sleep_until(env, env.now() + 300ms);
  }
}
