#pragma once
// Damage to an LMDB file where it counts: in the bytes of its keys and values, not in what LMDB leaves unused.

#include <cstdint>
#include <string>

namespace belay::sim {

/// Bits of all keys and values.
std::uint64_t bits_of_rows(const std::string& file);
/// Changes one of them in the file, as a disk would: open environments see it. @pre n < bits_of_rows(file)
void flip_bit_of_rows(const std::string& file, std::uint64_t n);

} // namespace belay::sim
