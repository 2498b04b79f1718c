#pragma once
// The base of commands that run until a signal ends them.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

namespace belay::cli {

class long_run {
public:
  explicit long_run(boost::asio::io_context& loop) : loop_(loop) {}
  long_run(const long_run&) = delete;
  long_run& operator=(const long_run&) = delete;
  virtual ~long_run() = default;

  /// Runs all(), and all that it starts, to the end. Meanwhile SIGINT and SIGTERM do not end the
  /// process.
  /// @returns the exit code that all() returned
  int run();

protected:
  virtual boost::asio::awaitable<int> all() = 0;
  /// Called at the first such signal, when stopped_ is set: all() should return soon.
  virtual void stop(int signal) = 0;

  boost::asio::io_context& loop_;
  bool stopped_ = false;
};

} // namespace belay::cli
