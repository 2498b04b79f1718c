#pragma once
// The monotonic clock of a running node. The usual one stops while the machine is suspended, so
// that a leader that wakes up would trust a lease that has long expired. CLOCK_BOOTTIME continues.
// Only a hypervisor that pauses the whole machine stops it, too (docs/operate/operations.md).

#include "actors/interfaces.hpp"

namespace belay::actors {

/// A clock with the time type of a node; only differences between its own times are meaningful.
struct boot_clock {
  using time_point = monotonic_time;
  static time_point now();
  /// Whether it counts while the machine is suspended (CLOCK_BOOTTIME, not CLOCK_MONOTONIC).
  static bool counts_suspensions();
};

/// The clock for a node's actors. System timers are late by the time of a suspension.
class suspension_proof_clock final : public node_clock {
public:
  monotonic_time now() const override { return boot_clock::now(); }
  std::chrono::nanoseconds in_system_time(std::chrono::nanoseconds own) const override { return own; }
};

} // namespace belay::actors
