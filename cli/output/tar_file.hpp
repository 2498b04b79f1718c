#pragma once
// A folder as one gzipped tar (POSIX ustar).

#include "protocol/base/result.hpp"

#include <cstdint>
#include <string>

namespace belay::cli {

/// The folder, under its last name, and all that is below it, in the order of the names, as a file `path` that only its owner
/// may read. It is written beside its place and put there whole; what was there under the name is replaced then. Files are read
/// and packed in pieces: none has to fit into memory.
/// @param time_s the time of all entries
/// @returns what went wrong: a file that cannot be read or written, or a name of more than 100 bytes. `path` is as it was then.
status pack_folder(const std::string& folder, const std::string& path, std::int64_t time_s);

} // namespace belay::cli
