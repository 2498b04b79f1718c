#include "cli/process/run_until_told.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/signal_set.hpp>

#include <csignal>

namespace belay::cli {

namespace asio = boost::asio;

int run_until_told(asio::io_context& loop, const std::function<asio::awaitable<int>()>& work,
                   const std::function<void(int signal)>& stop) {
  asio::signal_set signals(loop, SIGINT, SIGTERM);
  signals.async_wait([&stop](const boost::system::error_code& ec, int number) {
    if (!ec)
      stop(number);
  });
  int code = 1;
  asio::co_spawn(
      loop,
      [](const std::function<asio::awaitable<int>()>& all, asio::signal_set& waited,
         int& out) -> asio::awaitable<void> {
        out = co_await all();
        waited.cancel();
      }(work, signals, code),
      asio::detached);
  loop.run();
  return code;
}

} // namespace belay::cli
