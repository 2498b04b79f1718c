#include "protocol/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace belay {

void check_failed(const char* kind, const char* condition, const char* file, int line) {
  std::fprintf(stderr, "belay: %s broken: %s (%s:%d)\n", kind, condition, file, line);
  std::abort();
}

} // namespace belay
