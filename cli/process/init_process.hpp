#pragma once
// The duties of the first process of a container. The kernel makes it the parent of every process
// whose parent has ended. An ended process stays in the process table until its parent waits for
// it. Scripts of checks and handlers of `watch` leave such processes behind.

#include <optional>

namespace belay::cli {

/// Whether this process is the first one of its PID namespace.
bool is_first_process();

/// Continues in a child process, and waits here for everything that ends. Signals are forwarded to
/// the child. If the standard input is a terminal, the child becomes its foreground job.
/// @pre the process has no other thread
/// @returns nullopt in the child. In this process, when the child has ended: its exit code, or 128
/// plus the number of the signal that ended it
std::optional<int> continue_in_child();

} // namespace belay::cli
