#include "actors/telemetry/fatal_exceptions.hpp"

#include "actors/telemetry/log.hpp"

#include <cstdlib>

namespace belay::actors {

std::string text_of(const std::exception_ptr& e) {
  try {
    std::rethrow_exception(e);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an exception of unknown type";
  }
}

bool is_ended_for_test(const std::exception_ptr& e) {
  try {
    std::rethrow_exception(e);
  } catch (const ended_for_test&) {
    return true;
  } catch (...) {
    return false;
  }
}

void log_fatal_exception(std::string_view who, const std::exception_ptr& e) {
  try {
    log::error("node", "stopping after an exception", {{"actor", who}, {"exception", text_of(e)}});
  } catch (...) { // not even memory for a line
  }
}

void log_uncaught_exceptions() {
  std::set_terminate([] {
    if (const auto e = std::current_exception())
      log_fatal_exception("none: a thread callback", e);
    std::abort();
  });
}

} // namespace belay::actors
