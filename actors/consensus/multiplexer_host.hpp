#pragma once
// CAF's multiplexer as a host of actors: they run on its thread and wait for timers and sockets.

#include "actors/host.hpp"

namespace belay::actors {

class multiplexer_waits;

/// Destroy it after the actors on it have ended, and before the actor system.
class multiplexer_host final : public actor_host {
public:
  explicit multiplexer_host(caf::actor_system& system);
  ~multiplexer_host() override;

  caf::execution_unit* entry() override { return unit_; }
  caf::resumable::subtype_t subtype() const override { return caf::resumable::io_actor; }
  void after(std::chrono::nanoseconds d, std::function<void()> then) override;
  /// Calls `then` once when the socket has data or a connection, or never if the host ends first.
  /// One wait at a time per socket; end it before closing the socket. Call it on the host's thread.
  void when_readable(int fd, std::function<void()> then);
  void no_longer(int fd);

private:
  caf::execution_unit* unit_;
  multiplexer_waits* waits_; ///< owned by the multiplexer, which deletes it
};

} // namespace belay::actors
