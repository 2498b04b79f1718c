#pragma once
// Records what happened in a simulated run. Two runs are compared by a hash over all events; if
// there is a reader, it gets lines of text.

#include "sim/run.hpp"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace belay::sim {

/// The node of events that belong to none.
inline constexpr std::size_t no_node = SIZE_MAX;

class event_trace {
public:
  explicit event_trace(std::function<void(const std::string&)> reader) : reader_(std::move(reader)) {}

  /// Two runs are the same if the same events were added to the hash in the same order.
  void add(std::uint64_t what) {
    hash_ ^= what + 0x9E3779B97F4A7C15ULL + (hash_ << 6) + (hash_ >> 2);
    hash_ *= 0xBF58476D1CE4E5B9ULL;
  }
  void count() { ++events_; }
  std::uint64_t hash() const { return hash_; }
  std::uint64_t events() const { return events_; }

  /// Whether there is a reader. Check it before you make a line: that costs more than all the rest.
  bool wanted() const { return reader_ != nullptr; }
  void line(virtual_time at, std::size_t node, const std::string& text) const {
    if (!reader_)
      return;
    char head[48];
    if (node == no_node)
      std::snprintf(head, sizeof head, "%11.6f  --  ", static_cast<double>(at.count()) / 1e9);
    else
      std::snprintf(head, sizeof head, "%11.6f  n%zu  ", static_cast<double>(at.count()) / 1e9, node);
    reader_(head + text);
  }

private:
  std::function<void(const std::string&)> reader_;
  std::uint64_t hash_ = 0x243F6A8885A308D3ULL;
  std::uint64_t events_ = 0;
};

} // namespace belay::sim
