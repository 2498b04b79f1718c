#pragma once
// How a fuzz subject reports a broken property: by an exception, which Catch2 and libFuzzer report.

#include <stdexcept>

namespace belay::fuzz {

struct property_broken : std::logic_error {
  using std::logic_error::logic_error;
};

} // namespace belay::fuzz

#define HOLDS_TEXT(x) #x
#define HOLDS_LINE(x) HOLDS_TEXT(x)
/// Throws property_broken, with the condition and its location, unless it is true.
#define HOLDS(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition))                                                                                                  \
      throw ::belay::fuzz::property_broken(__FILE__ ":" HOLDS_LINE(__LINE__) ": " #condition);                         \
  } while (false)
