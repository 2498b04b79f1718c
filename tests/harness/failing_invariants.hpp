#pragma once
// For tests that switch a mutant on: an invariant may stop it before a wrong answer is seen.

#include "protocol/base/check.hpp"

#include <stdexcept>

namespace belay::harness {

/// While an object of this class exists, a failed INVARIANT throws std::logic_error. At most one
/// exists at a time.
class failing_invariants {
public:
  failing_invariants() {
    on_check_failed([](const char* text) { throw std::logic_error(text); });
  }
  ~failing_invariants() { on_check_failed(nullptr); }
  failing_invariants(const failing_invariants&) = delete;
  failing_invariants& operator=(const failing_invariants&) = delete;
};

} // namespace belay::harness
