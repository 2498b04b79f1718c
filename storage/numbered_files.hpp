#pragma once
// Files with a number in their names: one is the newest, and the oldest are removed.

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::storage {

/// The files of a folder whose name is `begins`, a number from 1 to 2^63 - 1 in decimal digits, and
/// `ends`, with their numbers: the smallest first. What cannot be read is left out.
std::vector<std::pair<std::int64_t, std::filesystem::path>>
numbered_files(const std::filesystem::path& folder, std::string_view begins, std::string_view ends);

} // namespace belay::storage
