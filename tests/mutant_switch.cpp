// BELAY_MUTANT=NAME: the whole program runs with that known bug (tests/mutants/README.md); `tools/mutants check` does so.
#include "protocol/base/mutants.hpp"

#include <cstdlib>
#include <iostream>

namespace belay {
extern mutant planted_mutant; // defined in protocol/base/mutants.cpp
}

namespace {

const bool switched = [] {
  const char* name = std::getenv("BELAY_MUTANT");
  if (name == nullptr)
    return true;
  if (belay::activate_mutant(name)) {
    belay::planted_mutant = belay::active_mutant; // tests that plant another one go back to it
    return true;
  }
  std::cerr << "there is no mutant " << name << " in this build\n";
  std::_Exit(64);
}();

} // namespace
