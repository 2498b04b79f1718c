#pragma once
// A client that follows changes of keys over streams.

#include "tests/cluster/changes/change_checker.hpp"
#include "tests/harness/server_cluster.hpp"

#include <deque>
#include <memory>
#include <string>

namespace belay::harness {

/// One stream: parses its bytes into chunks, lines and events as they arrive.
class event_stream {
public:
  /// @param last_id empty: it does not resume
  event_stream(std::uint16_t port, const std::string& target, const std::string& last_id);

  /// Reads up to `bytes_max` available bytes within the limit. @returns false: the stream has ended
  bool read(milliseconds limit, std::size_t bytes_max);
  std::deque<sim::stream_event> take_events() { return reader_.take_events(); }

private:
  http_connection connection_;
  sim::event_reader reader_;
  bool ok_ = false;
};

/// Follows a prefix over one stream after another.
class follower {
public:
  explicit follower(std::string target) : target_(std::move(target)) {}

  void connect(std::uint16_t port) { stream_ = std::make_unique<event_stream>(port, target_, checker_.last_id()); }
  bool connected() const { return stream_ != nullptr; }
  void cut() { stream_.reset(); }
  void read(milliseconds limit, std::size_t bytes_max);

  const change_checker& checker() const { return checker_; }

private:
  std::string target_;
  std::unique_ptr<event_stream> stream_;
  change_checker checker_;
};

/// All keys under a prefix, by a consistent read.
known_state read_all(std::uint16_t port, const std::string& prefix);

} // namespace belay::harness
