#pragma once
// How a fuzz subject says that what it promises did not hold: by an exception, which both Catch2 and libFuzzer report.

#include <stdexcept>

namespace belay::fuzz {

struct property_broken : std::logic_error {
  using std::logic_error::logic_error;
};

} // namespace belay::fuzz

#define HOLDS_TEXT(x) #x
#define HOLDS_LINE(x) HOLDS_TEXT(x)
/// Throws property_broken, naming the condition and where it stands, unless it is true.
#define HOLDS(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition))                                                                                                  \
      throw ::belay::fuzz::property_broken(__FILE__ ":" HOLDS_LINE(__LINE__) ": " #condition);                         \
  } while (false)
