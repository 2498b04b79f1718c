#pragma once
// Checks that stay on in release. For our own bugs only: bytes from a peer, a client or a disk are checked, never asserted.

namespace belay {

/// Writes the broken condition to stderr and aborts.
[[noreturn]] void check_failed(const char* kind, const char* condition, const char* file, int line);

/// Gets the text before the process aborts. The simulator's throws, so that the run ends and not the process.
using check_failed_handler = void (*)(const char* text);
void on_check_failed(check_failed_handler handler);

} // namespace belay

#define INVARIANT(condition)                                                                                           \
  do {                                                                                                                 \
    if (!(condition)) [[unlikely]]                                                                                     \
      ::belay::check_failed("invariant", #condition, __FILE__, __LINE__);                                              \
  } while (false)

#define PRECONDITION(condition)                                                                                        \
  do {                                                                                                                 \
    if (!(condition)) [[unlikely]]                                                                                     \
      ::belay::check_failed("precondition", #condition, __FILE__, __LINE__);                                           \
  } while (false)
