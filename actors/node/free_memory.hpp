#pragma once
// Returns freed memory to the system; an allocator keeps it for later use. After a large store was
// filled, a restart, or a large response to many clients that is hundreds of megabytes, forever.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <caf/actor_system.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace belay::actors {

/// Bytes that the allocator keeps in whole pages; 0 if unknown. The C library (without tcmalloc)
/// also counts what it has returned: then more is requested in vain every sixteen seconds.
std::size_t free_memory();
/// Returns about this many bytes, if available. Takes about a second for a gigabyte, in steps
/// between which other threads can allocate: not for a thread that clients wait for.
void give_back_memory(std::size_t bytes);

/// Decides which free memory is unlikely to be needed soon: what was free at several consecutive
/// samples.
class unused_memory {
public:
  /// Less than this is kept.
  static constexpr std::size_t bytes_min = 8 << 20;
  static constexpr int looks = 8;

  /// @param free bytes now
  /// @returns how many of them to return to the system; 0: none
  std::size_t due(std::size_t free) {
    least_ = std::min(least_, free);
    if (++looked_ < looks)
      return 0;
    looked_ = 0;
    const auto unused = std::exchange(least_, SIZE_MAX);
    return unused < bytes_min ? 0 : unused;
  }

private:
  std::size_t least_ = SIZE_MAX; ///< minimum since the last result
  int looked_ = 0;
};

/// Checks every two seconds.
class memory_housekeeping {
public:
  /// @param system returns memory on its scheduler's thread, which no client waits for
  /// @pre `loop` no longer runs when this is destroyed
  memory_housekeeping(boost::asio::io_context& loop, caf::actor_system& system);

private:
  void look_later();

  boost::asio::steady_timer timer_;
  caf::actor_system& system_;
  unused_memory unused_;
};

} // namespace belay::actors
