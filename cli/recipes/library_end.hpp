#pragma once
// How a call of the client library ended, for those who do not know the library.

#include <cstdint>
#include <string>

namespace belay::cli {

struct library_end {
  enum class how : std::uint8_t {
    done,
    given_up, ///< the time is over, or stop() was called
    failed,
  } what = how::done;
  std::string why = {}; ///< of one that failed

  bool done() const { return what == how::done; }
};

} // namespace belay::cli
