#pragma once
// When memory goes back to the system: an allocator keeps what was freed, and after one large answer to many clients that would be
// hundreds of megabytes for ever. Giving it back costs time, so it is done after peaks, and not often.

#include "actors/messages.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

namespace belay::actors {

class memory_peak {
public:
  /// What is less is used again soon.
  static constexpr std::size_t bytes_min = 32 << 20;
  static constexpr std::chrono::seconds interval{10};

  /// Now and then. @param held now: bytes
  void look(std::size_t held) { peak_ = std::max(peak_, held); }
  /// @returns how many bytes should be given back now; 0: none. They count as given back then.
  std::size_t due(std::size_t held, monotonic_time now) {
    look(held);
    if (peak_ < bytes_min || held > peak_ / 4 || now - given_back_ < interval)
      return 0;
    given_back_ = now;
    return std::exchange(peak_, held) - held;
  }

private:
  std::size_t peak_ = 0;
  monotonic_time given_back_{};
};

} // namespace belay::actors
