#pragma once
// The writers of the cluster tests. They record every response, to compare it with the final state
// of the cluster.

#include "tests/harness/server_cluster.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace belay::harness {

/// One acknowledged write.
struct acknowledged {
  steady_time at;
  double seconds = 0; ///< since it was sent
};

/// The values that a key may have in the end.
struct allowed_values {
  std::set<std::string> values;
  bool may_be_absent = false;
};

/// Each writer is one client with its own keys below load/. It sends its next request when it knows
/// the outcome of the last, or never will. It never retries. Three kinds of writers:
/// - `unique` creates keys by cas=0: none may be lost; `false` would mean it was done twice;
/// - `counter` reads consistently and adds by cas: the value is the last acknowledged or unknown;
/// - `register` overwrites one key and reads it back: a write repeated later would show. After an
///   unknown outcome, which may still happen at any time, it continues with another key.
class workload {
public:
  /// Starts the writers; the i-th begins at ports[i % size] and moves to the next after an error.
  /// @param token the token of their requests; empty: none
  workload(std::vector<std::uint16_t> ports, std::size_t writers, const std::string& token = {});
  /// Stops, if that was not done.
  ~workload();
  workload(const workload&) = delete;
  workload& operator=(const workload&) = delete;

  /// Lets every writer finish its request.
  void stop();

  std::size_t acknowledged_count() const { return acknowledged_count_; }
  std::size_t unknown_count() const { return unknown_count_; }
  /// Waits for `more` acknowledged writes. @returns false if there are fewer within `limit`
  bool wait_for_more(std::size_t more, milliseconds limit = milliseconds{60000});
  /// Acknowledged writes between two times, in order.
  std::vector<acknowledged> between(steady_time from, steady_time to) const;
  /// Longest time in seconds without an acknowledged write between two times.
  double longest_gap(steady_time from, steady_time to) const;
  /// The 99th percentile of latency in milliseconds between two times; 0: none acknowledged.
  double p99_ms(steady_time from, steady_time to) const;

  /// Violations that the writers themselves noticed, at most 20.
  std::vector<std::string> violations() const;
  /// Reads everything below load/ from one node in one mode ("stale", "consistent") and compares
  /// it. @returns what is lost, wrong or unexpected, at most 20 lines. @pre stopped
  std::vector<std::string> compare(std::uint16_t port, const std::string& mode) const;

private:
  enum class outcome { done, refused, unknown };
  class writer;

  void acknowledge(steady_time begun);
  void violation(const std::string& what);

  std::vector<std::uint16_t> ports_;
  std::vector<std::pair<std::string, std::string>> headers_; ///< headers of each request
  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> acknowledged_count_{0};
  std::atomic<std::size_t> unknown_count_{0};
  mutable std::mutex guard_;
  std::vector<acknowledged> acknowledged_;
  std::vector<std::string> violations_;
  std::vector<std::unique_ptr<writer>> writers_;
};

} // namespace belay::harness
