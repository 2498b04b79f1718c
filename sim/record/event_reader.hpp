#pragma once
// Server-sent events, as a client gets them (docs/changes.md).

#include <deque>
#include <string>
#include <string_view>

namespace belay::sim {

/// One of them. What it does not say is empty.
struct stream_event {
  std::string id, kind, data;
};

/// Takes the bytes of an answer apart: head, chunks, events.
class event_reader {
public:
  /// @returns false: it is no stream, or has ended
  bool take(std::string_view bytes);
  /// Those that are complete.
  std::deque<stream_event> take_events();
  int status() const { return status_; }

private:
  std::string raw_, text_;
  int status_ = 0;
  bool ended_ = false;
};

} // namespace belay::sim
