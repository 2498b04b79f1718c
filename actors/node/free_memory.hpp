#pragma once
// Gives memory that was freed back to the system.

#include <cstddef>

namespace belay::actors {

/// About so many bytes, if there are. Takes about a second for a gigabyte, in steps between which other threads can allocate: not for a
/// thread that clients wait for.
void give_back_memory(std::size_t bytes);

} // namespace belay::actors
