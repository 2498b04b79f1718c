#pragma once
// How long what arrives now waits until the loop gets to it. That cannot be seen of requests themselves: until they are read they are
// in the kernel.

#include "actors/gateway/socket_poller.hpp"

#include <functional>
#include <memory>

namespace belay::actors {

/// A descriptor that becomes readable when it is told to and takes its turn behind the sockets that are readable already (epoll hands
/// them out in that order). For the loop's thread.
class arrival_probe final : public socket_owner {
public:
  /// @param served called when its turn has come
  arrival_probe(std::shared_ptr<socket_poller> poller, std::function<void()> served);
  ~arrival_probe() override;
  arrival_probe(const arrival_probe&) = delete;
  arrival_probe& operator=(const arrival_probe&) = delete;

  /// It waits from now on. @returns false: it waits already
  bool begin();

private:
  void on_ready(bool readable, bool writable) override;

  std::shared_ptr<socket_poller> poller_;
  std::function<void()> served_;
  int fd_;
  bool watched_ = false, waits_ = false;
};

} // namespace belay::actors
