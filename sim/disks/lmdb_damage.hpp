#pragma once
// Damages an LMDB file where it matters: in keys and values, not in unused space.

#include <cstdint>
#include <string>

namespace belay::sim {

/// The number of bits of all keys and values.
std::uint64_t bits_of_rows(const std::string& file);
/// Flips one of them in the file, as a disk would: visible at once. @pre n < bits_of_rows(file)
void flip_bit_of_rows(const std::string& file, std::uint64_t n);

} // namespace belay::sim
