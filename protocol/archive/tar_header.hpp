#pragma once
// The header of a file in a tar (POSIX ustar): for /v1/snapshot and `belay debug`.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace belay::archive {

constexpr std::size_t tar_block = 512, tar_name_bytes_max = 100;

struct tar_span {
  std::size_t at, size;
};
// The fields of a header that are written, and read.
constexpr tar_span tar_name_field{0, tar_name_bytes_max}, tar_size_field{124, 12}, tar_sum_field{148, 8},
    tar_type_field{156, 1}, tar_magic_field{257, 8};

/// The header of a file that only its owner may read, or of a folder if the name ends with a slash.
/// @pre the name has at most tar_name_bytes_max bytes
std::string tar_header(std::string_view name, std::uint64_t bytes, std::uint64_t time_s);
/// How many zeros follow a file of that size.
constexpr std::size_t tar_padding_of(std::uint64_t bytes) {
  return (tar_block - bytes % tar_block) % tar_block;
}
/// The sum of a header's bytes, its own field counted as blanks. @pre it has tar_block bytes
std::uint64_t tar_sum_of(std::string_view header);

} // namespace belay::archive
