#pragma once
// Detects messages that cause each other forever, so that virtual time cannot advance.

#include "sim/environment/schedule.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace belay::sim {

class storm_checker {
public:
  /// Call it often.
  /// @param events how many there have been since the run began
  std::optional<std::string> look(virtual_time now, std::uint64_t events) {
    if (const auto second = std::chrono::floor<std::chrono::seconds>(now); second != second_) {
      second_ = second;
      before_ = events;
    }
    if (events - before_ <= events_per_second_max)
      return std::nullopt;
    return std::to_string(events - before_) + " events within one virtual second";
  }

private:
  // The busiest second of ordinary runs has some tens of thousands of events.
  static constexpr std::uint64_t events_per_second_max = 1'000'000;

  std::chrono::seconds second_{0}; ///< the current virtual second
  std::uint64_t before_ = 0;       ///< events before it
};

} // namespace belay::sim
