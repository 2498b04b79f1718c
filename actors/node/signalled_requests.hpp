#pragma once
// Requests of clients to the node as a whole (reload the configuration, leave the cluster), and the
// thread that executes them. That thread waits for signals, so a request wakes it with a signal.

#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace belay::actors {

class signalled_requests {
public:
  using then = std::function<void(std::string error)>;

  /// @param signal wakes the thread; blocked in all threads
  /// @param too_late error after close()
  signalled_requests(int signal, std::string too_late) : signal_(signal), too_late_(std::move(too_late)) {}

  /// Any thread. The caller of take() calls `t`; after close() it is called at once.
  void add(then t);
  /// The requests received so far. A reload that begins now does not answer later ones.
  std::vector<then> take();
  /// No more requests are executed.
  void close();

private:
  const int signal_;
  const std::string too_late_;
  std::mutex mutex_;
  std::vector<then> waiting_;
  bool closed_ = false;
};

} // namespace belay::actors
