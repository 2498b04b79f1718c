// A program outside the tree with its own executor. Without an argument there is no server.
#include <belay/asio.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

#include <iostream>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  belay::client_options options;
  options.servers = {argc > 1 ? argv[1] : "http://127.0.0.1:1"};
  boost::asio::io_context loop;
  belay::reason why = belay::reason::closed;
  std::uint64_t fence = 0;
  {
    belay::asio::client c(loop, options);
    auto lock = c.lock("outside");
    lock.acquire(argc > 1 ? 10s : 1s, [&](belay::result<belay::asio::client_lease> held) {
      why = held.reason();
      fence = held ? held->fence() : 0;
      c.close(1s, [](belay::status) {});
    });
    loop.run();
  }
  std::cout << belay::name_of(why) << "\n";
  return argc > 1 ? fence == 0 : why != belay::reason::unavailable;
}
