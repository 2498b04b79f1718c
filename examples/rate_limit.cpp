// At most N concurrent calls in the whole cluster: N are admitted, the others must retry later.
//
//   rate_limit SERVER NAME N CALLS   makes CALLS calls at once from as many threads
#include <belay/client.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: rate_limit SERVER NAME N CALLS\n";
    return 64;
  }
  belay::client_options options;
  options.servers = {argv[1]};
  belay::client c(options);
  auto max = std::stoul(argv[3]);

  std::atomic<int> running = 0, at_once = 0, served = 0, sent_away = 0;
  std::vector<std::thread> calls;
  for (int i = 0; i < std::stoi(argv[4]); ++i) {
    calls.emplace_back([&] {
      auto permit = c.semaphore(argv[2], max).acquire(20s);
      if (!permit) {
        ++sent_away;
        return;
      }
      int now = ++running;
      for (int seen = at_once; seen < now && !at_once.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::sleep_for(50ms); // the call of a shared service
      --running;
      ++served;
    });
  }
  for (auto& call : calls)
    call.join();
  std::cout << served << " served, " << sent_away << " rejected, at most " << at_once << " at once\n";
  return at_once <= static_cast<int>(max) && sent_away == 0 ? 0 : 1;
}
