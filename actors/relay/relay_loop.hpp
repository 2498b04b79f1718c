#pragma once
// What is around a client agent's way to the servers: time, sockets, and the thread on which all of it runs. In the program that is Asio;
// the simulator has its own, and everything else of the way is the same.

#include "actors/interfaces.hpp"
#include "actors/names/socket_endpoint.hpp"

#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace belay::actors {

/// One TCP connection. Whatever is passed to it is called from the loop, never before the call returns. After close() it is called with
/// an error, or never.
class relay_socket {
public:
  using done = std::function<void(boost::system::error_code)>;
  using transferred = std::function<void(boost::system::error_code, std::size_t bytes)>;

  virtual ~relay_socket() = default;

  virtual void connect(const socket_endpoint& to, done then) = 0;
  /// All of it. @param bytes stay where they are until `then` is called. @pre no other write is under way
  virtual void write(const std::string& bytes, done then) = 0;
  /// What is there, at least a byte, into the first bytes of `into`, which stays where it is until `then` is called.
  /// @pre no other read is under way
  virtual void read(std::string& into, transferred then) = 0;
  /// The other end is told that nothing more is written; it may write on. @pre no write is under way
  virtual void end_output() = 0;
  virtual void close() = 0;
};

class relay_loop {
public:
  /// What was asked for is not called any more once the last of these is gone.
  using timer = std::shared_ptr<void>;

  virtual ~relay_loop() = default;

  /// Of a clock that stands still while the machine is suspended.
  virtual monotonic_time now() = 0;
  virtual std::unique_ptr<relay_socket> open_socket() = 0;
  [[nodiscard]] virtual timer after(std::chrono::milliseconds d, std::function<void()> what) = 0;
  /// Calls it when everything that is under way now has returned.
  virtual void post(std::function<void()> what) = 0;
};

} // namespace belay::actors
