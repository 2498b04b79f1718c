#include "cli/recipes/library_errors.hpp"

namespace belay::cli {

library_end end_of(const error& why) {
  const bool given_up = why.why() == reason::deadline || why.why() == reason::stopped;
  return {given_up ? library_end::how::given_up : library_end::how::failed, why.text()};
}

bool passes(const error& why) {
  switch (why.why()) {
  case reason::limit:
  case reason::unavailable:
  case reason::no_answer:
  case reason::server:
    return true;
  default:
    return false;
  }
}

} // namespace belay::cli
