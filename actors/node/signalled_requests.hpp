#pragma once
// Clients that want something of whoever runs the node (read the configuration again, leave the cluster), and the thread that does it: it
// waits for signals, and is woken by one.

#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace belay::actors {

class signalled_requests {
public:
  using then = std::function<void(std::string error)>;

  /// @param signal wakes the thread; blocked in all threads
  /// @param too_late what is told after close()
  signalled_requests(int signal, std::string too_late) : signal_(signal), too_late_(std::move(too_late)) {}

  /// Any thread. Whoever takes `t` calls it; after close() it is called at once.
  void add(then t);
  /// Those who have asked until now. Whoever asks later has not been heard by what begins now.
  std::vector<then> take();
  /// Nobody will do it any more.
  void close();

private:
  const int signal_;
  const std::string too_late_;
  std::mutex mutex_;
  std::vector<then> waiting_;
  bool closed_ = false;
};

} // namespace belay::actors
