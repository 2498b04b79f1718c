#pragma once
// Measures how long a new request waits until the event loop reads it.
// Requests themselves cannot show that: until they are read they are in the kernel.

#include "actors/gateway/socket_poller.hpp"

#include <functional>
#include <memory>

namespace belay::actors {

/// A descriptor that becomes readable on demand, and is then served after the sockets that were
/// readable before (epoll reports them in that order). Use it on the loop's thread only.
class arrival_probe final : public socket_owner {
public:
  /// @param served called when the descriptor is served
  arrival_probe(std::shared_ptr<socket_poller> poller, std::function<void()> served);
  ~arrival_probe() override;
  arrival_probe(const arrival_probe&) = delete;
  arrival_probe& operator=(const arrival_probe&) = delete;

  /// Makes the descriptor readable. @returns false: it already is
  bool begin();

private:
  void on_ready(bool readable, bool writable) override;

  std::shared_ptr<socket_poller> poller_;
  std::function<void()> served_;
  int fd_;
  bool watched_ = false, waits_ = false;
};

} // namespace belay::actors
