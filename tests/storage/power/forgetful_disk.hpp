#pragma once
// A disk that forgets what was not synced, below LMDB and everything else of this process: the program has its own open(),
// write(), fsync() and so on in place of the C library's. What is written to files of one folder is noted until it is durable:
// contents by fsync() or fdatasync() of their file or by a descriptor with O_DSYNC, names by fsync() of their folder. When the
// power goes, what is noted is taken back, or a part of it, and the process ends.

#include <cstdint>
#include <string>

namespace belay::tests {

/// What becomes of what was not synced.
enum class survival : std::uint8_t {
  nothing,
  some, ///< each write, cut at any sector, by chance; of the changes of names the first ones
};

/// From now on, for this process: everything below `folder` is on such a disk. The n-th changing call from now on does not take
/// place: the power goes, and the process ends with power_lost.
void cut_power_at(const std::string& folder, std::uint64_t n, survival how, std::uint64_t seed);
inline constexpr int power_lost = 77;

} // namespace belay::tests
