#pragma once
// Known bugs that can be switched on, to see that the simulator finds them: `if (MUTANT(commit_any_term)) ...`.
// Only where BELAY_SIMULATION_HOOKS is defined (tests, the sim preset); in shipped builds MUTANT() is the constant
// false. Each bug, its source and how soon it is found: tests/mutants/README.md.

#include <string_view>
#include <vector>

namespace belay {

/// In alphabetical order. Each has a line in tests/mutants/README.md.
#define BELAY_MUTANTS(M) M(commit_any_term)

#define BELAY_MUTANT_NAME(name) name,
enum class mutant : unsigned char { none, BELAY_MUTANTS(BELAY_MUTANT_NAME) };
#undef BELAY_MUTANT_NAME

std::vector<std::string_view> mutant_names();

#ifdef BELAY_SIMULATION_HOOKS
inline mutant active_mutant = mutant::none;
#define MUTANT(name) (::belay::active_mutant == ::belay::mutant::name)
#else
#define MUTANT(name) false
#endif

/// Switches that one on and all others off; "" switches all off.
/// @returns false: there is no such mutant, or this build has none.
bool activate_mutant(std::string_view name);

} // namespace belay
