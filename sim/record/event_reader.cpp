#include "sim/record/event_reader.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace belay::sim {

bool event_reader::take(std::string_view bytes) {
  raw_ += bytes;
  if (status_ == 0) {
    const auto end = raw_.find("\r\n\r\n");
    if (end == std::string::npos)
      return true;
    std::from_chars(raw_.data() + 9, raw_.data() + 12, status_);
    raw_.erase(0, end + 4);
  }
  while (status_ == 200 && !ended_) {
    const auto line = raw_.find("\r\n");
    std::size_t size = 0;
    if (line == std::string::npos)
      break;
    std::from_chars(raw_.data(), raw_.data() + line, size, 16);
    if (raw_.size() < line + 2 + size + 2)
      break;
    text_.append(raw_, line + 2, size);
    raw_.erase(0, line + 2 + size + 2);
    ended_ = size == 0;
  }
  return status_ == 200 && !ended_;
}

std::deque<stream_event> event_reader::take_events() {
  std::deque<stream_event> out;
  for (auto end = text_.find("\n\n"); end != std::string::npos; end = text_.find("\n\n")) {
    stream_event e;
    for (std::size_t at = 0; at < end;) {
      const auto line_end = std::min(text_.find('\n', at), end);
      const auto line = std::string_view(text_).substr(at, line_end - at);
      at = line_end + 1;
      if (line.starts_with("id: "))
        e.id = line.substr(4);
      else if (line.starts_with("event: "))
        e.kind = line.substr(7);
      else if (line.starts_with("data: "))
        e.data = line.substr(6);
    }
    text_.erase(0, end + 2);
    if (!e.kind.empty())
      out.push_back(std::move(e));
  }
  return out;
}

} // namespace belay::sim
