#include "protocol/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace belay {

namespace {

check_failed_handler handler_of_failures = nullptr;

} // namespace

void on_check_failed(check_failed_handler handler) {
  handler_of_failures = handler;
}

void check_failed(const char* kind, const char* condition, const char* file, int line) {
  char text[512];
  std::snprintf(text, sizeof text, "%s broken: %s (%s:%d)", kind, condition, file, line);
  if (handler_of_failures != nullptr)
    handler_of_failures(text);
  std::fprintf(stderr, "belay: %s\n", text);
  std::abort();
}

} // namespace belay
