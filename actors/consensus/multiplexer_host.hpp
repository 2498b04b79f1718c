#pragma once
// CAF's multiplexer as a host of actors: they run on its thread, beside the brokers, and wait there for times and sockets.

#include "actors/host.hpp"

namespace belay::actors {

class multiplexer_waits;

/// End it when the actors on it have ended, and before the actor system does.
class multiplexer_host final : public actor_host {
public:
  explicit multiplexer_host(caf::actor_system& system);
  ~multiplexer_host() override;

  caf::execution_unit* entry() override { return unit_; }
  caf::resumable::subtype_t subtype() const override { return caf::resumable::io_actor; }
  void after(std::chrono::nanoseconds d, std::function<void()> then) override;
  /// Calls `then` once, as soon as there is something to be read from the socket (or accepted by it), or never if the host ends before.
  /// One wait at a time for each socket; end it before the socket is closed. Call it on the host's thread.
  void when_readable(int fd, std::function<void()> then);
  void no_longer(int fd);

private:
  caf::execution_unit* unit_;
  multiplexer_waits* waits_; ///< the multiplexer's, which it deletes
};

} // namespace belay::actors
