#pragma once
// Bytes for a client that its socket has not taken. Most connections have none, and use no memory.

#include "protocol/http/shared_body.hpp"

#include <cstddef>
#include <list>
#include <string>
#include <string_view>

namespace belay::actors {

class unsent_output {
public:
  /// One call of send() sends about this many bytes: a client that takes megabytes as
  /// fast as they are sent must not delay the others.
  static constexpr std::size_t bytes_per_quantum = 256 << 10;

  std::size_t size() const { return bytes_.size() - sent_ + behind_bytes_; }
  bool empty() const { return size() == 0; }
  /// Memory used, in bytes, without shared bodies.
  std::size_t held_bytes() const { return bytes_.capacity() + own_bytes_behind_; }
  /// The sizes of the shared bodies, each divided by the number of its holders.
  std::size_t shared_bytes() const;

  /// Takes the content of `fresh`, which is empty afterwards.
  void take(std::string& fresh);
  /// Appends a shared body.
  void append(http::shared_body_ptr body);
  enum class outcome {
    sent,    ///< nothing is left
    blocked, ///< the socket takes no more for now, or the quantum is used up
    broken,  ///< the connection is lost
  };
  outcome send(int fd);
  /// The next contiguous bytes; nothing if it is empty.
  std::string_view front();
  /// Removes bytes that were sent. @pre bytes <= front().size()
  void skip(std::size_t bytes);
  /// After everything was sent: a large buffer of at most `shared_max` bytes goes to `fresh`,
  /// if that one's is smaller; otherwise it is freed.
  void release(std::string& fresh, std::size_t shared_max);
  void clear();

private:
  /// A piece of output: a shared body, or bytes that the connection wrote after one.
  struct part {
    http::shared_body_ptr body;
    std::size_t piece = 0, sent = 0; ///< next piece of the body, and how much of that is sent
    std::string bytes = {};
  };
  static std::string_view left_of(const part& p);

  std::string bytes_;
  std::size_t sent_ = 0;
  std::list<part> behind_; ///< after `bytes_`
  std::size_t behind_bytes_ = 0, own_bytes_behind_ = 0;
};

} // namespace belay::actors
