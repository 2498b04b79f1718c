#pragma once
// Bytes for a client that its socket has not taken yet. Most connections have none, and need no memory for it.

#include <cstddef>
#include <string>

namespace belay::actors {

class unsent_output {
public:
  std::size_t size() const { return bytes_.size() - sent_; }
  bool empty() const { return size() == 0; }
  /// Memory for it: bytes.
  std::size_t held_bytes() const { return bytes_.capacity(); }

  /// Takes over what is in `fresh`, which is empty then.
  void take(std::string& fresh);
  enum class outcome {
    sent,    ///< nothing is left
    blocked, ///< the socket takes no more for now
    broken,  ///< the connection is lost
  };
  outcome send(int fd);
  /// After everything was sent: a large buffer of at most `shared_max` bytes goes to `fresh`, if that has a smaller one;
  /// otherwise it is freed.
  void release(std::string& fresh, std::size_t shared_max);
  void clear();

private:
  std::string bytes_;
  std::size_t sent_ = 0;
};

} // namespace belay::actors
