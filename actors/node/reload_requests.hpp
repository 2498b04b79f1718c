#pragma once
// Clients that want the configuration to be read again, and the thread that does it: it waits for signals, and is woken by one.

#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace belay::actors {

class reload_requests {
public:
  using then = std::function<void(std::string error)>;

  /// Any thread. Whoever takes `t` calls it; after close() it is called at once.
  void add(then t);
  /// Those who have asked until now. Whoever asks later has not been heard by a reload that begins now.
  std::vector<then> take();
  /// Nobody will reload any more.
  void close();

private:
  std::mutex mutex_;
  std::vector<then> waiting_;
  bool closed_ = false;
};

} // namespace belay::actors
