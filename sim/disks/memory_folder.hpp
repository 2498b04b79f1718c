#pragma once
// Folders for files that must be real ones (LMDB maps them) and never need a disk.

#include <string>

namespace belay::sim {

/// A new, empty folder in memory (/dev/shm) or, where there is none, below the system's temporary one. The first call of a
/// process removes those that processes left behind which do not live any more.
std::string make_memory_folder();
void remove_memory_folder(const std::string& folder);

} // namespace belay::sim
