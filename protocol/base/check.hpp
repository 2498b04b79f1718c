#pragma once
// Checks that stay on in release. They are for Belay's own bugs only: external input is checked,
// not asserted.

namespace belay {

/// Writes the violated condition to stderr and aborts.
[[noreturn]] void check_failed(const char* kind, const char* condition, const char* file, int line);

/// Receives the text before the process aborts. The simulator's throws, to end only the run.
using check_failed_handler = void (*)(const char* text);
void on_check_failed(check_failed_handler handler);

} // namespace belay

#define INVARIANT(condition)                                                                                           \
  do {                                                                                                                 \
    if (!(condition)) [[unlikely]]                                                                                     \
      ::belay::check_failed("invariant", #condition, __FILE__, __LINE__);                                              \
  } while (false)

/// For conditions in loops over rows or entries: evaluated only in builds with mutants.
#ifdef BELAY_SIMULATION_HOOKS
#define INVARIANT_IN_DEVELOPMENT(condition) INVARIANT(condition)
#else
#define INVARIANT_IN_DEVELOPMENT(condition) static_cast<void>(0)
#endif

#define PRECONDITION(condition)                                                                                        \
  do {                                                                                                                 \
    if (!(condition)) [[unlikely]]                                                                                     \
      ::belay::check_failed("precondition", #condition, __FILE__, __LINE__);                                           \
  } while (false)
