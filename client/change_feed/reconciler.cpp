#include <belay/reconciler.hpp>

#include <belay/keys.hpp>

#include "client/core/asking.hpp"
#include "client/core/mutants.hpp"

#include <algorithm>

namespace belay {
inline namespace v0 {

namespace {

constexpr std::chrono::hours for_ever{24 * 365};

/// An exception of the program's code is a failure. Nothing else would notice the end of a worker.
error thrown() {
  return error(outcome::unknown, reason::none, "an exception");
}

} // namespace

reconciler::reconciler(environment& env, work how, scan everything, reconciler_options options)
    : env_(env), work_(std::move(how)), scan_(std::move(everything)), options_(options) {
  options_.per_second = std::max<std::uint32_t>(options_.per_second, 1);
  options_.workers = std::max<std::size_t>(options_.workers, 1);
  options_.pass_every = detail::at_most_a_year(options_.pass_every);
  options_.work_limit = detail::at_most_a_year(options_.work_limit);
}

void reconciler::start() {
  stop();
  next_start_ = env_.now();
  workers_.resize(options_.workers);
  for (auto& t : workers_) {
    t = run_worker();
    t.start();
  }
  if (scan_) {
    passes_ = run_passes();
    passes_.start();
  }
}

void reconciler::stop() {
  workers_.clear();
  passes_.reset();
  // Keys that were in progress are processed again.
  for (const auto& key : busy_)
    enqueue(key);
  busy_.clear();
  again_.clear();
}

void reconciler::enqueue(const std::string& key) {
  if (!queued_.insert(key).second)
    return;
  waiting_.push_back(key);
  if (!CLIENT_MUTANT(offer_rings_nobody))
    work_bell_.wake_all();
}

bool reconciler::offer(const std::string& key) {
  if (busy_.count(key)) {
    if (!CLIENT_MUTANT(offer_while_busy_lost))
      again_.insert(key);
  } else if (!queued_.count(key)) {
    if (waiting_.size() >= options_.waiting_max) {
      ++counts_.dropped;
      return false;
    }
    enqueue(key);
  }
  ++counts_.taken;
  return true;
}

void reconciler::trigger() {
  triggered_ = true;
  pass_bell_.wake_all();
}

task<status> reconciler::try_work(const std::string& key) {
  try {
    deadline limit(env_.now() + options_.work_limit);
    task<status> working = work_(key, limit);
    status worked = co_await working;
    co_return worked;
  } catch (...) {
    co_return thrown();
  }
}

task<result<std::vector<std::string>>> reconciler::try_scan() {
  try {
    deadline limit(env_.now() + options_.work_limit);
    task<result<std::vector<std::string>>> scanning = scan_(limit);
    result<std::vector<std::string>> all = co_await scanning;
    co_return all;
  } catch (...) {
    co_return thrown();
  }
}

/// Processes waiting keys one after another, at the rate that all workers share. A key that fails
/// is retried after a pause. A key that is offered again during its work is queued once more.
task<void> reconciler::run_worker() {
  for (;;) {
    if (waiting_.empty()) {
      auto later = env_.now() + for_ever;
      co_await sleep_until(env_, later, &work_bell_);
      continue;
    }
    std::string key = std::move(waiting_.front());
    waiting_.pop_front();
    queued_.erase(key);
    busy_.insert(key);
    room_bell_.wake_all();
    backoff pauses(milliseconds(50), milliseconds(5000));
    std::uint32_t tries = 0;
    for (;;) {
      // Tries are spaced evenly, to keep to the rate.
      auto now = env_.now();
      auto mine = std::max(next_start_, now);
      next_start_ = mine + std::chrono::nanoseconds(std::chrono::seconds(1)) / options_.per_second;
      if (mine > now && !CLIENT_MUTANT(works_without_rate))
        co_await sleep_until(env_, mine);
      // From here on the work sees the present state; a later offer needs another run.
      again_.erase(key);
      status worked = co_await try_work(key);
      if (worked) {
        ++counts_.done;
        break;
      }
      ++counts_.failed;
      if (++tries >= options_.tries_max) {
        ++counts_.given_up;
        break;
      }
      auto again = env_.now() + pauses.next(env_);
      co_await sleep_until(env_, again);
    }
    busy_.erase(key);
    bool once_more = again_.erase(key) > 0;
    if (once_more)
      enqueue(key);
  }
}

task<void> reconciler::run_passes() {
  for (;;) {
    triggered_ = false;
    result<std::vector<std::string>> all = co_await try_scan();
    auto next = env_.now() + milliseconds(1000);
    if (all) {
      for (const auto& key : *all) {
        while (waiting_.size() >= options_.waiting_max) {
          auto later = env_.now() + for_ever;
          co_await sleep_until(env_, later, &room_bell_);
        }
        offer(key);
      }
      ++counts_.passes;
      next = env_.now() + options_.pass_every;
    }
    if (!triggered_)
      co_await sleep_until(env_, next, &pass_bell_);
  }
}

} // namespace v0
} // namespace belay
