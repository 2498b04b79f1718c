#pragma once
// Bytes for a client that its socket has not taken yet. Most connections have none, and need no memory for it.

#include "protocol/http/shared_body.hpp"

#include <cstddef>
#include <list>
#include <string>
#include <string_view>

namespace belay::actors {

class unsent_output {
public:
  /// One call of send() hands over so many bytes and a few more: a client that takes megabytes as fast as they are sent does not keep
  /// the others waiting.
  static constexpr std::size_t bytes_per_turn = 256 << 10;

  std::size_t size() const { return bytes_.size() - sent_ + behind_bytes_; }
  bool empty() const { return size() == 0; }
  /// Memory for it: bytes, without bodies that are shared.
  std::size_t held_bytes() const { return bytes_.capacity() + own_bytes_behind_; }
  /// Of each body that is shared, its size divided by the number of those who hold it.
  std::size_t shared_bytes() const;

  /// Takes over what is in `fresh`, which is empty then.
  void take(std::string& fresh);
  /// Behind what is there.
  void append(http::shared_body_ptr body);
  enum class outcome {
    sent,    ///< nothing is left
    blocked, ///< the socket takes no more for now, or its turn is over
    broken,  ///< the connection is lost
  };
  outcome send(int fd);
  /// The next bytes, as far as they lie together; nothing if it is empty.
  std::string_view front();
  /// So many of them are gone. @pre bytes <= front().size()
  void skip(std::size_t bytes);
  /// After everything was sent: a large buffer of at most `shared_max` bytes goes to `fresh`, if that has a smaller one;
  /// otherwise it is freed.
  void release(std::string& fresh, std::size_t shared_max);
  void clear();

private:
  /// A body, or bytes of our own behind one.
  struct part {
    http::shared_body_ptr body;
    std::size_t piece = 0, sent = 0; ///< of the body: which piece is next, and how much of that is gone
    std::string bytes = {};
  };
  static std::string_view left_of(const part& p);

  std::string bytes_;
  std::size_t sent_ = 0;
  std::list<part> behind_; ///< `bytes_`
  std::size_t behind_bytes_ = 0, own_bytes_behind_ = 0;
};

} // namespace belay::actors
