#pragma once
// Folders for files that must be real ones (LMDB maps them) and never need a disk.

#include <string>

namespace belay::sim {

/// Makes a new, empty folder in memory (/dev/shm) or, if there is none, in the system's temporary
/// folder. The first call of a process removes the folders of processes that have ended.
std::string make_memory_folder();
void remove_memory_folder(const std::string& folder);

} // namespace belay::sim
