// A job that starts on every machine of a cluster, and does its work on one of them once a period.
//
//   cron_job SERVER NAME   such as: cron_job http://127.0.0.1:8500 nightly-report
#include <belay/client.hpp>

#include <chrono>
#include <iostream>
#include <string>

namespace {

using namespace std::chrono_literals;

/// The current period: the work is done once for each value.
std::string period_now() {
  auto days = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  return std::to_string(days.time_since_epoch().count());
}

/// The work. It checks that it still holds the lock before each step that must run only once.
bool report(const belay::client_lease& lock) {
  for (int step = 1; step <= 3; ++step) {
    if (!lock.safe()) {
      std::cerr << "the lock was lost: " << lock.lost_reason() << "\n";
      return false;
    }
    std::cout << "step " << step << " under fence " << lock.fence() << "\n";
  }
  return true;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: cron_job SERVER NAME\n";
    return 64;
  }
  belay::client_options options;
  options.servers = {argv[1]};
  options.session.name = "cron_job";
  belay::client c(options);
  auto name = std::string("jobs/") + argv[2];

  auto lock = c.lock(name + "/lock").acquire(30s);
  if (!lock) {
    std::cerr << "no lock: " << lock.error().text() << "\n";
    return 1;
  }
  auto period = period_now();
  auto last = c.get(name + "/done");
  if (!last) {
    std::cerr << "cannot see what was done: " << last.error().text() << "\n";
    return 1;
  }
  if (last->found && last->found->value == period) {
    std::cout << "done already\n";
    return 0;
  }
  if (!report(*lock) || !lock->safe())
    return 1;
  // Written only if it has not changed since it was read.
  auto mark = [&](const std::optional<belay::entry>&) { return std::optional<std::string>(period); };
  auto marked = c.update(name + "/done", mark);
  std::cout << (marked ? "done\n" : "done, and not marked\n");
  return marked ? 0 : 1;
}
