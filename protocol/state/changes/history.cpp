#include "protocol/state/changes/history.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/hex.hpp"

namespace belay::state {

namespace {

/// The two halves of a formed cluster's id are checksums of the same
/// bytes, which differ by a constant. So every bit of the product
/// must affect every bit of the hash (finalizer of splitmix64).
std::uint64_t spread(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

} // namespace

history_id history_id::of(std::uint64_t cluster_id, log_index restored_at) {
  PRECONDITION(cluster_id != 0);
  constexpr std::uint64_t low = 0xffff'ffffU;
  const auto hash = spread(cluster_id) >> 32;
  // Zero means no history, and all ones one that cannot be parsed.
  const auto cluster = hash == 0 || hash == low ? std::uint64_t{1} : hash;
  return history_id{cluster << 32 | (restored_at.value & low)};
}

std::string to_string(history_id h) {
  return to_hex(h.value());
}

} // namespace belay::state
