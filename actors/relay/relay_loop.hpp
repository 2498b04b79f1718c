#pragma once
// The environment of a client agent's relay: time, sockets, and the thread that runs it.
// In the program that is Asio; the simulator replaces it, and runs the same code on top.

#include "actors/interfaces.hpp"
#include "actors/names/socket_endpoint.hpp"

#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace belay::actors {

/// One TCP connection. Callbacks run from the loop, never before the call returns.
/// After close() they get an error, or are not called.
class relay_socket {
public:
  using done = std::function<void(boost::system::error_code)>;
  using transferred = std::function<void(boost::system::error_code, std::size_t bytes)>;

  virtual ~relay_socket() = default;

  virtual void connect(const socket_endpoint& to, done then) = 0;
  /// Writes all of it.
  /// @param bytes must not move until `then` runs. @pre no other write is pending
  virtual void write(const std::string& bytes, done then) = 0;
  /// Reads what is available, at least a byte, to the front of `into`, which must not move
  /// until `then` is called. @pre no other read is pending
  virtual void read(std::string& into, transferred then) = 0;
  /// Ends the output; the other end may still write. @pre no write is pending
  virtual void end_output() = 0;
  virtual void close() = 0;
};

class relay_loop {
public:
  /// The callback is not called after the last copy of its timer is destroyed.
  using timer = std::shared_ptr<void>;

  virtual ~relay_loop() = default;

  /// Time of a clock that stops while the machine is suspended.
  virtual monotonic_time now() = 0;
  virtual std::unique_ptr<relay_socket> open_socket() = 0;
  [[nodiscard]] virtual timer after(std::chrono::milliseconds d, std::function<void()> what) = 0;
  /// Calls it when all calls now in progress have returned.
  virtual void post(std::function<void()> what) = 0;
};

} // namespace belay::actors
