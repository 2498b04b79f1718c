#pragma once
// Errors of the library as the rest of the program sees them. Only for sources of this room.

#include "cli/recipes/library_end.hpp"

#include <belay/result.hpp>

#include <chrono>

namespace belay::cli {

/// A time that does not come.
constexpr std::chrono::hours for_ever{24 * 365};

library_end end_of(const error& why);
/// Whether asking again later may have another end: no server could be asked, or one is overloaded, or has failed.
bool passes(const error& why);

} // namespace belay::cli
