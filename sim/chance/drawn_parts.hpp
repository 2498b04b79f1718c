#pragma once
// Maps a number drawn from the tape to an action of a simulated client or the nemesis (sim/faults).
// A client cuts one number into parts; a table of shares says which numbers mean which action.
// Tapes store numbers, so a table may grow only at its end, within what its last share leaves.

#include <cstddef>
#include <cstdint>

namespace belay::sim {

// One number drawn from the tape decides one operation of a client and is cut into these parts.
// Removing one item from a tape therefore removes one operation and changes no other.
inline constexpr std::uint64_t drawn_max = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kinds_max = 32;
inline std::uint64_t kind_part(std::uint64_t drawn) {
  return drawn % kinds_max;
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

/// An action and how many of the numbers that can be drawn mean it.
template <class Action>
struct share {
  Action action;
  std::uint64_t numbers;
};

/// How many numbers a table of shares covers.
template <class Action, std::size_t N>
constexpr std::uint64_t numbers_of(const share<Action> (&shares)[N]) {
  std::uint64_t sum = 0;
  for (const auto& s : shares)
    sum += s.numbers;
  return sum;
}

/// The action that `number` means; the shares begin at 0. @pre number < numbers_of(shares)
template <class Action, std::size_t N>
constexpr Action action_of(const share<Action> (&shares)[N], std::uint64_t number) {
  std::size_t i = 0;
  for (; i + 1 < N && number >= shares[i].numbers; ++i)
    number -= shares[i].numbers;
  return shares[i].action;
}

} // namespace belay::sim
