#pragma once
// Parses server-sent events as a client receives them (docs/reference/changes.md).

#include <deque>
#include <string>
#include <string_view>

namespace belay::sim {

/// One event. Absent fields are empty.
struct stream_event {
  std::string id, kind, data;
};

/// Splits the bytes of a response into head, chunks and events.
class event_reader {
public:
  /// @returns false: it is not a stream, or has ended
  bool take(std::string_view bytes);
  /// Removes and returns the complete events.
  std::deque<stream_event> take_events();
  int status() const { return status_; }

private:
  std::string raw_, text_;
  int status_ = 0;
  bool ended_ = false;
};

} // namespace belay::sim
