#pragma once
// Works through keys that may be wrong, at a bounded rate, a few at a time.
//
// Promise: a key whose offer() was taken is worked on after the offer, once or more; one that is offered again while it is
// worked on is worked on once more. Never more than `workers` at a time, never faster than `per_second`, never more than
// `waiting_max` waiting: what is too much is refused at once, and counted. Nobody who offers ever waits.
// Survives: work that fails: it is tried again after pauses that grow, tries_max times in all. What was dropped or given up is
// found by the next full pass over everything (`scan`), each `pass_every` or when trigger() says so; a pass waits for room.
// When it cannot: counts() says how many were dropped and given up. What waits here is lost with the process: a new one begins
// with a full pass.

#include <belay/task.hpp>
#include <belay/world.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace belay {
inline namespace v0 {

class reconciler_options {
public:
  reconciler_options() = default;
  std::size_t waiting_max = 128;
  std::uint32_t per_second = 500; ///< at least 1
  std::size_t workers = 8;
  std::uint32_t tries_max = 5;
  /// From the end of a full pass to the next one. Only with `scan`.
  milliseconds pass_every{60000};
  /// How long one work, and one scan, may take.
  milliseconds work_limit{10000};
};

class reconciler_counts {
public:
  reconciler_counts() = default;
  std::uint64_t taken = 0;    ///< offers
  std::uint64_t dropped = 0;  ///< offers that were refused
  std::uint64_t done = 0;     ///< works
  std::uint64_t failed = 0;   ///< works, each try
  std::uint64_t given_up = 0; ///< keys after tries_max
  std::uint64_t passes = 0;
};

class reconciler {
public:
  using work = std::function<task<status>(std::string, patience)>;
  /// All keys there are.
  using scan = std::function<task<result<std::vector<std::string>>>(patience)>;

  /// @param everything may be empty: then there are no full passes
  reconciler(world& w, work how, scan everything = scan(), reconciler_options options = reconciler_options());
  reconciler(const reconciler&) = delete;
  reconciler& operator=(const reconciler&) = delete;

  /// Begins to work, with a full pass.
  void start();
  /// What is under way is destroyed.
  void stop();
  /// @returns false if too many wait: it is counted. A key that waits already is taken
  bool offer(const std::string& key);
  /// A full pass, now.
  void trigger();

  const reconciler_counts& counts() const noexcept { return counts_; }
  std::size_t waiting() const noexcept { return waiting_.size(); }
  bool idle() const noexcept { return waiting_.empty() && busy_.empty(); }

private:
  task<void> run_worker();
  task<void> run_passes();
  void enqueue(const std::string& key);

  world& world_;
  work work_;
  scan scan_;
  reconciler_options options_;
  reconciler_counts counts_;
  std::deque<std::string> waiting_;
  std::set<std::string> queued_; ///< what is in waiting_
  std::set<std::string> busy_;
  std::set<std::string> again_; ///< offered while they were worked on
  instant next_start_{};
  bool triggered_ = false;
  stopper work_bell_;
  stopper room_bell_;
  stopper pass_bell_;
  std::vector<task<void>> workers_;
  task<void> passes_;
};

} // namespace v0
} // namespace belay
