#pragma once
// What the first process of a container has to do for all others: the kernel gives it every process whose parent has ended, and whoever
// ended stays in the table of processes until it is waited for. Checks with scripts and handlers of `watch` leave such processes behind.

#include <optional>

namespace belay::cli {

/// Whether this process is the first one of its PID namespace.
bool is_first_process();

/// Goes on in a child process, and waits here for everything that ends. Signals are passed on to the child. If the standard input is a
/// terminal, the child is its foreground job.
/// @pre the process has no other thread
/// @returns in the child: nullopt. In this process, when the child has ended: its exit code, or 128 and the number of the signal that
/// ended it
std::optional<int> continue_in_child();

} // namespace belay::cli
