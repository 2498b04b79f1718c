#pragma once
// A connection on which Belay sends changes of keys as server-sent events (docs/reference/changes.md).

#include "bench/load/stream.hpp"

#include <charconv>

class event_connection : public byte_stream {
public:
  using byte_stream::byte_stream;
  /// Called with the text after `event:` and `data:` of each event, as it arrives.
  std::function<void(std::string_view event, std::string_view data)> on_event;
  /// The connection is lost, or the server has rejected the request.
  std::function<void(outcome)> on_end;

  /// Requests a stream.
  /// @param request the head, including the empty line
  bool open(std::string request) {
    if (!open_fd())
      return false;
    head_read_ = false;
    text_.clear();
    carried().requests++;
    out_ = std::move(request);
    return push_out();
  }

private:
  void on_fail(outcome why) override { on_end(why); }
  void on_bytes() override {
    if (!head_read_) {
      const size_t end = input().find("\r\n\r\n");
      if (end == std::string_view::npos)
        return;
      if (!input().starts_with("HTTP/1.1 200"))
        return fail(outcome::status);
      consume(end + 4);
      head_read_ = true;
    }
    while (take_chunk()) {
    }
    size_t from = 0;
    for (size_t end; (end = text_.find("\n\n", from)) != std::string::npos; from = end + 2)
      take_event(std::string_view(text_).substr(from, end - from));
    text_.erase(0, from);
  }
  bool take_chunk() {
    const std::string_view in = input();
    const size_t line = in.find("\r\n");
    if (line == std::string_view::npos)
      return false;
    size_t size = 0;
    std::from_chars(in.data(), in.data() + line, size, 16);
    if (in.size() < line + 2 + size + 2)
      return false;
    text_ += in.substr(line + 2, size);
    consume(line + 2 + size + 2);
    return fd >= 0 && !input().empty();
  }
  void take_event(std::string_view lines) {
    const auto field = [&](std::string_view name) {
      const size_t at = lines.starts_with(name) ? 0 : lines.find(name);
      if (at == std::string_view::npos)
        return std::string_view();
      const size_t begin = at + name.size();
      return lines.substr(begin, lines.find('\n', begin) - begin);
    };
    if (const auto event = field("event: "); !event.empty())
      on_event(event, field("data: "));
  }

  bool head_read_ = false;
  std::string text_; ///< text of incomplete events
};
