#pragma once
// The word that somebody probably meant.

#include <string_view>
#include <vector>

namespace belay::cli {

/// Of `words` the one that takes the fewest changes of a letter (one left out, one too many, another one, two exchanged),
/// or that `wrong` is the beginning of. @returns empty: none is near: more than a third of its letters, or more than 3, differ
std::string_view nearest(std::string_view wrong, const std::vector<std::string_view>& words);

} // namespace belay::cli
