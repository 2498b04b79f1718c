#pragma once
// Detects that a process did not run: stopped (SIGSTOP), machine suspended, or starved of CPU.

#include <chrono>
#include <optional>

namespace belay::diagnosis {

/// Shorter ones happen daily on busy machines; longer ones end leases, elections and TTLs.
inline constexpr std::chrono::seconds standstill_min{2};

/// @param requested how long a thread meant to sleep
/// @param slept how long it slept, by a clock that includes suspensions
/// @returns how long it could not run; nullopt: less than standstill_min
inline std::optional<std::chrono::nanoseconds> standstill_of(std::chrono::nanoseconds requested,
                                                             std::chrono::nanoseconds slept) {
  const auto late = slept - requested;
  return late >= standstill_min ? std::optional(late) : std::nullopt;
}

} // namespace belay::diagnosis
