#pragma once
// Processes keys that may be wrong, at a bounded rate, a few at a time.
//
// Guarantees: a key whose offer() was accepted is processed after the offer, at least once; if it
// is offered again meanwhile, once more. At most `workers` run at a time, at most `per_second`
// start, at most `waiting_max` keys wait: further offers are rejected, and counted. offer() never
// waits. Survives: failed work is retried after growing pauses, tries_max times in all; an
// exception of the work or the scan is a failure. The next full pass (`scan`), each `pass_every` or
// after trigger(), finds keys that were dropped or given up. On failure: counts() has the numbers
// of both. Waiting keys are lost with the process: a new one begins with a full pass. A pass waits
// until the queue has space.

#include <belay/environment.hpp>
#include <belay/task.hpp>

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
  /// Pause from the end of a full pass to the start of the next one. Only with `scan`.
  milliseconds pass_every{60000};
  /// Time limit of one call of the work, and of one scan.
  milliseconds work_limit{10000};
};

class reconciler_counts {
public:
  reconciler_counts() = default;
  std::uint64_t taken = 0;    ///< accepted offers
  std::uint64_t dropped = 0;  ///< rejected offers
  std::uint64_t done = 0;     ///< successful calls of the work
  std::uint64_t failed = 0;   ///< failed calls, each try
  std::uint64_t given_up = 0; ///< keys, after tries_max
  std::uint64_t passes = 0;
};

class reconciler {
public:
  using work = std::function<task<status>(std::string, deadline)>;
  /// Returns all existing keys.
  using scan = std::function<task<result<std::vector<std::string>>>(deadline)>;

  /// @param everything may be empty: then there are no full passes
  reconciler(environment& env, work how, scan everything = scan(), reconciler_options options = reconciler_options());
  reconciler(const reconciler&) = delete;
  reconciler& operator=(const reconciler&) = delete;

  /// Starts to work, with a full pass.
  void start();
  /// Destroys the work in progress.
  void stop();
  /// @returns false if too many keys wait, which is counted. A key that waits already is accepted
  bool offer(const std::string& key);
  /// Starts a full pass now.
  void trigger();

  const reconciler_counts& counts() const noexcept { return counts_; }
  std::size_t waiting() const noexcept { return waiting_.size(); }
  bool idle() const noexcept { return waiting_.empty() && busy_.empty(); }

private:
  task<status> try_work(const std::string& key);
  task<result<std::vector<std::string>>> try_scan();
  task<void> run_worker();
  task<void> run_passes();
  void enqueue(const std::string& key);

  environment& env_;
  work work_;
  scan scan_;
  reconciler_options options_;
  reconciler_counts counts_;
  std::deque<std::string> waiting_;
  std::set<std::string> queued_; ///< the keys in waiting_
  std::set<std::string> busy_;
  std::set<std::string> again_; ///< offered while they were processed
  instant next_start_{};
  bool triggered_ = false;
  stop_source work_bell_;
  stop_source room_bell_;
  stop_source pass_bell_;
  std::vector<task<void>> workers_;
  task<void> passes_;
};

} // namespace v0
} // namespace belay
