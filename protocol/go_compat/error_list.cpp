#include "protocol/go_compat/error_list.hpp"

namespace belay::go_compat {

std::string error_list(const std::vector<std::string>& errors) {
  auto out = std::to_string(errors.size()) + (errors.size() == 1 ? " error occurred:\n" : " errors occurred:\n");
  for (const auto& each : errors)
    out += "\t* " + each + "\n";
  return out + "\n";
}

} // namespace belay::go_compat
