#pragma once
// Reads whole files that people write: configuration, keys, certificates, lists of servers.
// They are small, and errors have the texts that Consul's operators know.

#include "protocol/base/result.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace belay::actors {

/// Larger than any file written by hand or for operators; stops at devices and wrong files.
inline constexpr std::size_t file_text_bytes_max = 16u << 20;

/// `open PATH: no such file or directory`, `open PATH: permission denied`, in Go's words.
/// @param error errno
failure open_failure(const std::string& path, int error);

/// The bytes of a file, a pipe, or anything that can be read to its end.
/// @returns open_failure(), `read PATH: is a directory`, or that it has more than `bytes_max`
result<std::string> read_file_text(const std::string& path, std::size_t bytes_max = file_text_bytes_max);

/// The same; nullopt: there is no such file.
result<std::optional<std::string>> read_file_text_if_there(const std::string& path,
                                                           std::size_t bytes_max = file_text_bytes_max);

} // namespace belay::actors
