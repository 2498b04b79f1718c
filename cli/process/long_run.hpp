#pragma once
// Commands that go on until they are told to end.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

namespace belay::cli {

class long_run {
public:
  explicit long_run(boost::asio::io_context& loop) : loop_(loop) {}
  long_run(const long_run&) = delete;
  long_run& operator=(const long_run&) = delete;
  virtual ~long_run() = default;

  /// Runs all() and all that it starts to the end. SIGINT and SIGTERM do not end the process then.
  /// @returns what all() returned: the exit code
  int run();

protected:
  virtual boost::asio::awaitable<int> all() = 0;
  /// The first such signal came, and stopped_ is set: all() should come to its end soon.
  virtual void stop(int signal) = 0;

  boost::asio::io_context& loop_;
  bool stopped_ = false;
};

} // namespace belay::cli
