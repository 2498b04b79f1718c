#pragma once
// Frames to send to one peer, in two classes: Raft's, which are few and must not be late, and
// those forwarded for clients, which can be tens of megabytes. Each class keeps its order.
// A frame of Raft waits for at most one window of the other class (docs/internals/adr/0002).

#include "protocol/wire/frame_codec.hpp"

#include <deque>
#include <string>

namespace belay::actors {

class peer_queue {
public:
  /// Limit of unsent bytes of the second class; a larger frame is sent when nothing else waits.
  static constexpr std::size_t bulk_window = 256u << 10;

  explicit peer_queue(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// @param unsent bytes that were taken and that the connection has not sent yet
  /// @returns false if the frame was dropped because the queue is full
  bool push(const wire::frame& f, std::size_t unsent);

  /// Appends to `out` what the connection should send now.
  void take(std::size_t unsent, std::string& out);

  bool empty() const { return urgent_.empty() && bulk_.empty(); }
  /// Whether take() would return anything.
  bool has_work(std::size_t unsent) const { return !urgent_.empty() || (!bulk_.empty() && unsent < bulk_window); }
  void clear();

private:
  std::size_t bytes_max_; ///< limit for each class
  std::string urgent_;
  std::deque<std::string> bulk_;
  std::size_t bulk_bytes_ = 0;
};

} // namespace belay::actors
