#pragma once
// The world of recipes on sockets: requests over connections that are kept, to the server that answers; timers by the clock of
// sessions. All of it on the one thread that runs the loop.
//
// A request goes to the server that answered last. One that cannot be reached is left out, and the next one is asked; nothing
// was sent then. One that was sent and not answered is *not* sent to another server, unless it is repeatable and the
// connection, one that had been kept, ended without a byte of an answer.

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
  /// Everything that waits is dropped.
  ~socket_world() override;

  instant now() override;
  std::uint64_t draw(std::uint64_t n) override;
  void sleep(operation& op, instant until) override;
  void ask(operation& op, const request& q, instant deadline) override;
  void stop(operation& op) override;
  void forget(operation& op) noexcept override;

  /// What is wrong with the options; reason::none if nothing is. Requests are refused with it.
  const error& wrong() const;

private:
  class parts;
  std::shared_ptr<parts> parts_;
};

} // namespace detail
} // namespace v0
} // namespace belay
