#pragma once
// The environment of a client agent's relay in the program: real sockets and timers.

#include "actors/relay/relay_loop.hpp"

#include <boost/asio/io_context.hpp>

namespace belay::actors {

class asio_relay_loop final : public relay_loop {
public:
  explicit asio_relay_loop(boost::asio::io_context& loop) : loop_(loop) {}

  monotonic_time now() override;
  std::unique_ptr<relay_socket> open_socket() override;
  timer after(std::chrono::milliseconds d, std::function<void()> what) override;
  void post(std::function<void()> what) override;

private:
  boost::asio::io_context& loop_;
};

} // namespace belay::actors
