#pragma once
// How a client's next step comes out of one number of the tape.

#include <cstdint>

namespace belay::sim {

// One question of a client is answered by one number, cut into these parts: so leaving out one answer leaves out one
// operation and changes no other.
inline constexpr std::uint64_t drawn_max = std::uint64_t{1} << 40;
inline std::uint64_t kind_part(std::uint64_t drawn) {
  return drawn % 32;
}
inline std::uint64_t key_part(std::uint64_t drawn) {
  return (drawn >> 5) % 1024;
}
inline std::uint64_t node_part(std::uint64_t drawn) {
  return (drawn >> 15) % 1024;
}
inline std::uint64_t pause_part(std::uint64_t drawn) {
  return (drawn >> 25) % 256;
}
inline std::uint64_t spare_part(std::uint64_t drawn) {
  return (drawn >> 33) % 128;
}

} // namespace belay::sim
