#pragma once
// The monotonic clock of a running node. The usual one stands still while the machine is suspended, and a leader that wakes up would take
// its lease for valid that others have long outlived; CLOCK_BOOTTIME goes on. Only a hypervisor that stops the whole machine stops it, too:
// docs/operations.md says what is left then.

#include "actors/interfaces.hpp"

namespace belay::actors {

/// In the type of all times of a node; only differences mean anything, and only between times of this clock.
struct boot_clock {
  using time_point = monotonic_time;
  static time_point now();
  /// It counts while the machine is suspended (CLOCK_BOOTTIME, not CLOCK_MONOTONIC).
  static bool counts_suspensions();
};

/// It for the actors of a node. Timers are the system's, and come late by what the machine was suspended for.
class suspension_proof_clock final : public node_clock {
public:
  monotonic_time now() const override { return boot_clock::now(); }
  std::chrono::nanoseconds in_system_time(std::chrono::nanoseconds own) const override { return own; }
};

} // namespace belay::actors
