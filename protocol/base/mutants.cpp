#include "protocol/base/mutants.hpp"

namespace belay {

std::vector<std::string_view> mutant_names() {
#define BELAY_MUTANT_TEXT(name) #name,
  return {BELAY_MUTANTS(BELAY_MUTANT_TEXT)};
#undef BELAY_MUTANT_TEXT
}

bool activate_mutant(std::string_view name) {
#ifdef BELAY_SIMULATION_HOOKS
  active_mutant = mutant::none;
  if (name.empty())
    return true;
  const auto names = mutant_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != name)
      continue;
    active_mutant = static_cast<mutant>(i + 1);
    return true;
  }
  return false;
#else
  return name.empty();
#endif
}

} // namespace belay
