// The multiplexer's thread serves more than peers.

#include "actors/consensus/multiplexer_host.hpp"
#include "actors/node/process.hpp"

#include <catch2/catch.hpp>

#include <caf/io/middleman.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <future>
#include <vector>

using namespace belay::actors;
using namespace std::chrono_literals;

TEST_CASE("the multiplexer's thread waits for times and sockets", "[actors][idle]") {
  const int bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  REQUIRE(bell >= 0);
  {
    system_config config;
    caf::actor_system system(config);
    multiplexer_host host(system);
    const auto begun = std::chrono::steady_clock::now();
    std::promise<void> rung, timed;
    std::vector<int> order; // used by that thread, until it has reported that it is done
    system.middleman().backend().post([&] {
      host.when_readable(bell, [&] {
        order.push_back(0);
        rung.set_value(); // a second call throws
      });
      host.after(30ms, [&] {
        order.push_back(2);
        timed.set_value();
      });
      host.after(10ms, [&] { order.push_back(1); });
      host.after(1h, [&] { order.push_back(3); }); // never fires
    });
    const std::uint64_t one = 1;
    REQUIRE(::write(bell, &one, sizeof one) == sizeof one); // which nothing reads
    rung.get_future().wait();
    timed.get_future().wait();
    CHECK(std::chrono::steady_clock::now() - begun >= 30ms);
    CHECK(std::erase(order, 0) == 1);
    CHECK(order == std::vector<int>{1, 2});
  }
  ::close(bell);
}
