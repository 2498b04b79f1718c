#pragma once
// An HTTP thread: its event loop, and the gateway that runs on it.

#include "actors/gateway/http_gateway.hpp"
#include "actors/host.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <caf/actor_control_block.hpp>

#include <thread>

namespace belay::actors {

class http_thread {
public:
  explicit http_thread(caf::actor_system& system) : host_(system, loop_) {}
  http_thread(const http_thread&) = delete;
  http_thread& operator=(const http_thread&) = delete;

  boost::asio::io_context& loop() { return loop_; }
  asio_host& host() { return host_; }
  /// @pre spawn() was called
  http_gateway& gateway() { return *gateway_; }

  http_gateway_actor spawn(caf::actor_system& system, const node_actors_ptr& node_actors, gateway_settings settings,
                           metrics& m);
  void start();
  /// If it was never started, runs the loop now, because pending waits need it to end.
  void run_to_the_end();
  /// @pre start() or run_to_the_end() was called, and its actors have ended
  void stop();

private:
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> stays_{loop_.get_executor()};
  asio_host host_;
  http_gateway* gateway_ = nullptr;
  caf::strong_actor_ptr kept_; ///< the gateway, until the thread starts and keeps it
  std::thread thread_;
};

} // namespace belay::actors
