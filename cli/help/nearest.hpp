#pragma once
// Finds the word that was probably meant.

#include <string_view>
#include <vector>

namespace belay::cli {

/// The word of `words` with the fewest edits (a letter left out, added or replaced, or two
/// exchanged), or that begins with `wrong`.
/// @returns empty if none is near: more than 3 letters, or more than a third of them, differ
std::string_view nearest(std::string_view wrong, const std::vector<std::string_view>& words);

} // namespace belay::cli
