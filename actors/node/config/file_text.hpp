#pragma once
// Whole files that people write: configuration, keys, certificates, lists of servers. They are small, and what is wrong with one is told
// in the words that Consul's operators know.

#include "protocol/base/result.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace belay::actors {

/// Larger than any that was written by hand or by a program for operators; a device or the wrong file ends here.
inline constexpr std::size_t file_text_bytes_max = 16u << 20;

/// `open PATH: no such file or directory`, `open PATH: permission denied`, as Go words it.
/// @param error errno
failure open_failure(const std::string& path, int error);

/// The bytes of a file, a pipe or another thing that can be read up to its end.
/// @returns open_failure(), `read PATH: is a directory`, or that it has more than `bytes_max`
result<std::string> read_file_text(const std::string& path, std::size_t bytes_max = file_text_bytes_max);

/// The same; nullopt: there is no such file.
result<std::optional<std::string>> read_file_text_if_there(const std::string& path,
                                                           std::size_t bytes_max = file_text_bytes_max);

} // namespace belay::actors
