#pragma once
// A limit that a reload of the configuration changes while other threads read it.

#include <atomic>
#include <cstddef>
#include <memory>

namespace belay::actors {

/// Thread-safe. Copies share one value.
class live_limit {
public:
  live_limit(std::size_t first) : value_(std::make_shared<std::atomic<std::size_t>>(first)) {}

  std::size_t now() const { return value_->load(std::memory_order_relaxed); }
  /// What was admitted under the old limit stays.
  void change(std::size_t next) const { value_->store(next, std::memory_order_relaxed); }

private:
  std::shared_ptr<std::atomic<std::size_t>> value_;
};

} // namespace belay::actors
