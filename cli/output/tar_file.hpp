#pragma once
// Packs a folder into one gzipped tar (POSIX ustar).

#include "protocol/base/result.hpp"

#include <cstdint>
#include <string>

namespace belay::cli {

/// Packs the folder and everything below it into a file `path` that only its owner may read. Names
/// begin with the folder's last name and are sorted. The file is written under another name and
/// renamed when it is complete; it replaces an earlier file of that name. Files are read and packed
/// in pieces, so none has to fit into memory.
/// @param time_s the time of all entries
/// @returns what went wrong: a file that cannot be read or written, or a name of more than 100
/// bytes. `path` is unchanged then
status pack_folder(const std::string& folder, const std::string& path, std::int64_t time_s);

} // namespace belay::cli
