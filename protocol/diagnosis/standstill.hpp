#pragma once
// Decides whether a process stood still: stopped (SIGSTOP), suspended with its machine, or without a processor.

#include <chrono>
#include <optional>

namespace belay::diagnosis {

/// Less is what a busy machine does every day; more ends leases, elections and TTLs.
inline constexpr std::chrono::seconds standstill_min{2};

/// @param asked how long a thread was to sleep
/// @param slept how long it took until it went on, by a clock that counts suspensions
/// @returns for how long it was kept from running; nullopt: less than standstill_min
inline std::optional<std::chrono::nanoseconds> standstill_of(std::chrono::nanoseconds asked,
                                                             std::chrono::nanoseconds slept) {
  const auto late = slept - asked;
  return late >= standstill_min ? std::optional(late) : std::nullopt;
}

} // namespace belay::diagnosis
