#pragma once
// The environment of recipes on sockets: requests over persistent connections to the server that
// responds, and timers by the clock of sessions. Everything runs on the one thread that runs the loop.
//
// A request goes to the server that responded last. If a server cannot be reached, nothing was sent,
// and the next one is tried. A request that was sent without a response is *not* sent to another
// server, unless it is repeatable and its connection, a reused one, ended without a byte of a response.

#include "client/asio/transport_options.hpp"

#include <belay/world.hpp>

#include <boost/asio/io_context.hpp>

#include <memory>

namespace belay {
inline namespace v0 {
namespace detail {

class socket_world : public world {
public:
  socket_world(boost::asio::io_context& loop, transport_options options);
  /// Drops everything that waits.
  ~socket_world() override;

  instant now() override;
  std::uint64_t draw(std::uint64_t n) override;
  void sleep(operation& op, instant until) override;
  void ask(operation& op, const request& q, instant deadline) override;
  void stop(operation& op) override;
  void forget(operation& op) noexcept override;

  /// What is wrong with the options; reason::none if nothing is. All requests are refused with it.
  const error& wrong() const;

private:
  class parts;
  std::shared_ptr<parts> parts_;
};

} // namespace detail
} // namespace v0
} // namespace belay
