#pragma once
// Finds the word that was probably meant.

#include <string_view>
#include <vector>

namespace belay::cli {

/// The word of `words` that takes the fewest changes of a letter (one left out, one too many,
/// another one, two exchanged), or that `wrong` is the beginning of.
/// @returns empty if none is near: more than 3 letters, or more than a third of them, differ
std::string_view nearest(std::string_view wrong, const std::vector<std::string_view>& words);

} // namespace belay::cli
