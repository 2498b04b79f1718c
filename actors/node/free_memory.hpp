#pragma once
// Memory that was freed goes back to the system: an allocator keeps it for the next who wants some. After the filling of a large store, a restart, or one
// large answer to many clients that would be a hundred megabytes and more for ever.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <caf/actor_system.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace belay::actors {

/// Bytes that the allocator keeps in whole pages; 0 also if it does not tell. The C library, where the program is built without tcmalloc, counts what it has given back
/// already, too: then it is asked for more in vain every sixteen seconds.
std::size_t free_memory();
/// Gives back about so many bytes, if there are. Takes about a second for a gigabyte, in steps between which other threads can allocate: not for a
/// thread that clients wait for.
void give_back_memory(std::size_t bytes);

/// What was free at several looks, one after the other, is not needed soon.
class unused_memory {
public:
  /// What is less stays.
  static constexpr std::size_t bytes_min = 8 << 20;
  static constexpr int looks = 8;

  /// @param free bytes now
  /// @returns how many of them are to be given back; 0: none
  std::size_t due(std::size_t free) {
    least_ = std::min(least_, free);
    if (++looked_ < looks)
      return 0;
    looked_ = 0;
    const auto unused = std::exchange(least_, SIZE_MAX);
    return unused < bytes_min ? 0 : unused;
  }

private:
  std::size_t least_ = SIZE_MAX; ///< of the looks since the last answer
  int looked_ = 0;
};

/// Looks every two seconds.
class memory_housekeeping {
public:
  /// @param system gives memory back on its scheduler's thread, which nobody waits for
  /// @pre `loop` runs no more when this is destroyed
  memory_housekeeping(boost::asio::io_context& loop, caf::actor_system& system);

private:
  void look_later();

  boost::asio::steady_timer timer_;
  caf::actor_system& system_;
  unused_memory unused_;
};

} // namespace belay::actors
