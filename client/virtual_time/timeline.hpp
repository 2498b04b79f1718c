#pragma once
// Virtual time for recipes: one thread, ordered events, all randomness from a tape with a seed.
// Processes (environments of recipes) send requests over a network that loses some, and pause
// before a request leaves and at clock reads. The same seed gives the same run.

#include <belay/environment.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace belay::virtual_time {

/// The source of all randomness of a run.
class tape {
public:
  explicit tape(std::uint64_t seed) : state_(seed) {}
  /// A random number from 0 to n-1. @pre n > 0
  std::uint64_t draw(std::uint64_t n);
  bool chance(std::uint32_t per_million) { return per_million && draw(1'000'000) < per_million; }
  /// A digest of everything drawn so far: equal runs have equal digests.
  std::uint64_t drawn() const { return state_ ^ count_; }

private:
  std::uint64_t state_;
  std::uint64_t count_ = 0;
};

/// Fault rates in parts per million.
struct fault_rates {
  std::uint32_t request_lost = 0;
  std::uint32_t answer_lost = 0;
  std::uint32_t pause_before_send = 0;
  std::uint32_t pause_at_clock = 0;
  milliseconds pause_max{0};
  milliseconds latency_max{20};   ///< one way
  std::uint32_t request_late = 0; ///< requests that arrive up to late_max later
  milliseconds late_max{0};
};

class timeline {
public:
  timeline(std::uint64_t seed, fault_rates rates) : rates_(rates), tape_(seed) {}

  instant now() const { return now_; }
  /// Events at the same time happen in the order in which they were scheduled.
  void at(instant when, std::function<void()> event);
  /// @returns false if no event is left
  bool step();
  /// Runs until `holds`, or until no event is left before `end`. @returns holds()
  bool run_until(instant end, const std::function<bool()>& holds);

  tape& chance() { return tape_; }
  const fault_rates& rates() const { return rates_; }
  /// Ends all faults.
  void heal() { rates_ = fault_rates{.latency_max = rates_.latency_max}; }
  std::uint64_t steps() const { return steps_; }

private:
  fault_rates rates_;
  tape tape_;
  instant now_{std::chrono::seconds(1000)};
  std::uint64_t order_ = 0;
  std::uint64_t steps_ = 0;
  std::map<std::pair<instant, std::uint64_t>, std::function<void()>> events_;
};

/// A server, or a model of one.
class server {
public:
  using reply = std::function<void(answer)>;
  virtual ~server() = default;
  /// @param done called once, now or later; or never
  virtual void take(const request& q, reply done) = 0;
};

/// The environment of one client process.
class process : public environment {
public:
  /// @param clock_ppm by how much its clock is too fast, in parts per million
  process(timeline& time, server& model, std::int64_t clock_ppm = 0)
      : time_(time), server_(model), clock_ppm_(clock_ppm), origin_(time.now()) {}

  instant now() override;
  std::uint64_t random(std::uint64_t n) override { return time_.chance().draw(n); }
  void sleep(operation& op, instant until) override;
  void ask(operation& op, const request& q, instant deadline) override;
  void stop(operation& op) override;
  void forget(operation& op) noexcept override;

  /// What its clock shows, for observers: reading it causes no pause.
  instant shows() const { return local_of(time_.now()); }
  /// Pauses the process for this time.
  void pause(std::chrono::nanoseconds length);
  std::size_t waiting() const { return waiting_.size(); }

private:
  instant global() const { return std::max(time_.now(), frozen_until_); }
  instant local_of(instant global) const;
  instant global_of(instant local) const;
  void maybe_pause(std::uint32_t per_million);
  std::uint64_t enlist(operation& op);
  void end(std::uint64_t ticket, instant when, bool stopped, answer a);

  timeline& time_;
  server& server_;
  std::int64_t clock_ppm_;
  instant origin_;
  instant frozen_until_{};
  std::uint64_t next_ticket_ = 1;
  std::unordered_map<std::uint64_t, operation*> waiting_;
};

} // namespace belay::virtual_time
