#include "protocol/base/mutants.hpp"

namespace belay {

std::vector<std::string_view> mutant_names() {
#define BELAY_MUTANT_TEXT(name) #name,
  return {BELAY_MUTANTS(BELAY_MUTANT_TEXT)};
#undef BELAY_MUTANT_TEXT
}

#ifdef BELAY_SIMULATION_HOOKS
mutant planted_mutant = mutant::none; // tests/mutant_switch.cpp: "" goes back to it
#endif

bool activate_mutant(std::string_view name) {
#ifdef BELAY_SIMULATION_HOOKS
  active_mutant = planted_mutant;
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
