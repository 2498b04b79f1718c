// BELAY_MUTANT=NAME: the whole program runs with that known bug (tests/mutants/README.md); `tools/mutants check` does so.
#include "protocol/base/mutants.hpp"

#include <cstdlib>
#include <iostream>

namespace {

const bool switched = [] {
  const char* name = std::getenv("BELAY_MUTANT");
  if (name == nullptr || belay::activate_mutant(name))
    return true;
  std::cerr << "there is no mutant " << name << " in this build\n";
  std::_Exit(64);
}();

} // namespace
