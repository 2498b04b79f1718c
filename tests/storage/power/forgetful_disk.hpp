#pragma once
// A disk that forgets what was not synced, below LMDB and everything else here. It replaces open(),
// write(), fsync() and so on of the C library. Writes to files of one folder are recorded until
// they are durable: contents by fsync() or fdatasync() of their file or by O_DSYNC, names by
// fsync() of their folder. A power loss undoes recorded writes, or a part, and ends the process.

#include <cstdint>
#include <string>

namespace belay::tests {

/// What survives of unsynced changes.
enum class survival : std::uint8_t {
  nothing,
  some, ///< each write, cut at any sector, by chance; the first ones of the name changes
};

/// From now on everything below `folder` is on such a disk, in this process. At the n-th changing
/// call from now the power fails instead, and the process ends with power_lost.
void cut_power_at(const std::string& folder, std::uint64_t n, survival how, std::uint64_t seed);
inline constexpr int power_lost = 77;

} // namespace belay::tests
