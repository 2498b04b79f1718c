// Clients start and stop for ten minutes, with everything that they can hold: nothing may stay
// behind. AddressSanitizer reports a leak; without it the test checks the memory of the process.
#include "tests/client/servers.hpp"

#include <fstream>
#include <thread>

using namespace belay;
using namespace belay::client_tests;
using std::chrono::steady_clock;

namespace {

/// Resident memory of this process, in KiB.
long resident_kib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word)
    if (word == "VmRSS:") {
      long kib = 0;
      status >> kib;
      return kib;
    }
  return 0;
}

/// A client acquires what it can, waits, and is destroyed. @returns whether it got everything
bool come_and_go(const client_options& options, int round) {
  client c(options);
  auto lock = c.lock("churn/lock").acquire(seconds(10));
  auto slot = c.semaphore("churn/slots", 3).acquire(seconds(10));
  auto leadership = c.election("churn/leader").campaign("me", milliseconds(50));
  auto shown = c.follow("churn/conf/");
  bool right = lock && slot && shown.wait(seconds(10));
  right = c.put("churn/conf/" + std::to_string(round % 100), std::string(100, 'x')) && right;
  right = c.add("churn/count", 1) && right;
  if (round % 2 == 0 && lock)
    right = lock->release() && right;
  std::jthread waits([&] {
    auto never = c.lock("churn/lock").acquire(milliseconds(20));
    static_cast<void>(never);
  });
  return right;
}

} // namespace

TEST_CASE("client: clients that start and stop leave nothing behind", "[.churn]") {
  auto cluster = started(our_server(), 1);
  auto options = options_for(*cluster);
  const auto length = seconds(std::stol(harness::environment("BELAY_CHURN_SECONDS", "600")));
  const auto begun = steady_clock::now();
  std::atomic<int> rounds = 0, failed = 0;
  long after_warm_up = 0;
  auto work = [&] {
    while (steady_clock::now() - begun < length)
      failed += come_and_go(options, rounds++) ? 0 : 1;
  };
  {
    std::jthread first(work);
    std::jthread second(work);
    std::this_thread::sleep_for(length / 5);
    after_warm_up = resident_kib();
  }
  auto at_the_end = resident_kib();
  WARN(rounds << " clients; " << after_warm_up << " KiB after a fifth of the time, " << at_the_end
              << " KiB at the end");
  CHECK(rounds > 10);
  CHECK(failed == 0);
  // What an allocator retains stays below this; a connection left by each client would not.
  CHECK(at_the_end < after_warm_up + after_warm_up / 4 + 4096);
}
