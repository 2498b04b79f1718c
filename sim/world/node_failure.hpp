#pragma once
// What a simulated node throws where the real process would abort: it ends by its own decision.

#include "protocol/base/check.hpp"

#include <string>

namespace belay::sim {

/// Thrown through an actor's handler; the world has noted the reason before.
struct node_failure {};

/// While there is one, an INVARIANT that does not hold throws node_failure. One at a time.
class broken_check {
public:
  broken_check() {
    newest.clear();
    on_check_failed([](const char* text) {
      newest = text;
      throw node_failure{};
    });
  }
  ~broken_check() { on_check_failed(nullptr); }
  broken_check(const broken_check&) = delete;
  broken_check& operator=(const broken_check&) = delete;

  /// Of the newest one; empty: none.
  static const std::string& text() { return newest; }

private:
  static inline std::string newest;
};

} // namespace belay::sim
