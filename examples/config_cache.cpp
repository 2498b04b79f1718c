// Settings that are read often and change seldom: served from memory, with a bounded age.
//
//   config_cache SERVER PREFIX KEY SECONDS   prints each value of PREFIX KEY as it changes
#include <belay/client.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <thread>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: config_cache SERVER PREFIX KEY SECONDS\n";
    return 64;
  }
  belay::client_options options;
  options.servers = {argv[1]};
  belay::client c(options);

  belay::near_cache_options how;
  how.stale_if_error = 30s; // without a server, a value of this age is better than none
  auto settings = c.follow(argv[2], how);
  auto ready = settings.wait(10s);
  if (!ready) {
    std::cerr << "nothing to show: " << ready.error().text() << "\n";
    return 1;
  }

  auto key = std::string(argv[2]) + argv[3];
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::stoi(argv[4]));
  std::string last = "?";
  while (std::chrono::steady_clock::now() < end) {
    auto shown = settings.get(key);
    std::string now = "nothing that is new enough";
    if (shown)
      now = shown->found() ? shown->found()->value : "not set";
    if (now != last)
      std::cout << now << std::endl;
    last = now;
    std::this_thread::sleep_for(20ms);
  }
  return 0;
}
