#pragma once
// The environment of recipes on a loop that belongs to something else: an actor, an executor. Its
// owner calls it from that loop, and these calls resume the coroutines that wait.

#include <belay/environment.hpp>
#include <belay/loops/transport.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <unordered_map>
#include <utility>

namespace belay {
inline namespace v0 {

class loop_environment final : public environment {
public:
  /// @param seed of random numbers; zero: a different one each time
  /// @param to_loop must arrange a call of answered() with the response; on any thread
  /// @param wake_loop must arrange a call of tick() at that time, or earlier
  /// @param settle_soon must arrange a call of settle(); empty if that is called after every event
  loop_environment(std::shared_ptr<transport> over, std::function<instant()> now, std::uint64_t seed,
                   std::function<void(std::uint64_t, answer)> to_loop, std::function<void(instant)> wake_loop,
                   std::function<void()> settle_soon = {});
  ~loop_environment() override;

  instant now() override { return now_(); }
  std::uint64_t random(std::uint64_t n) override { return random_() % n; }
  void sleep(operation& op, instant until) override;
  void ask(operation& op, const request& q, instant deadline) override;
  void stop(operation& op) override;
  void forget(operation& op) noexcept override;

  // Called by the owner, on the loop.
  void answered(std::uint64_t ticket, answer a);
  void tick();
  /// Finishes the operations that were stopped. Call it whenever some may have been.
  void settle();
  bool has_stopped() const noexcept { return !stopped_.empty(); }

private:
  void wake_for_first();

  std::shared_ptr<transport> over_;
  std::function<instant()> now_;
  std::mt19937_64 random_;
  std::function<void(std::uint64_t, answer)> to_loop_;
  std::function<void(instant)> wake_loop_;
  std::function<void()> settle_soon_;
  std::uint64_t next_ticket_ = 1;
  std::unordered_map<std::uint64_t, operation*> pending_;
  std::map<std::pair<instant, std::uint64_t>, operation*> sleeping_;
  std::unordered_map<std::uint64_t, instant> wakes_at_; ///< when the sleeping operations are due, by ticket
  std::deque<std::uint64_t> stopped_;
  instant armed_ = instant::max();
};

} // namespace v0
} // namespace belay
