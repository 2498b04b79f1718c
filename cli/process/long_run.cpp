#include "cli/process/long_run.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/signal_set.hpp>

#include <csignal>

namespace belay::cli {

namespace asio = boost::asio;

int long_run::run() {
  asio::signal_set signals(loop_, SIGINT, SIGTERM);
  signals.async_wait([this](const boost::system::error_code& ec, int number) {
    stopped_ = stopped_ || !ec;
    if (!ec)
      stop(number);
  });
  int code = 1;
  asio::co_spawn(
      loop_,
      [](long_run& self, asio::signal_set& waited, int& out) -> asio::awaitable<void> {
        out = co_await self.all();
        waited.cancel();
      }(*this, signals, code),
      asio::detached);
  loop_.run();
  return code;
}

} // namespace belay::cli
