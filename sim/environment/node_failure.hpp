#pragma once
// What a simulated node throws where the real process would abort.

#include "protocol/base/check.hpp"

#include <string>

namespace belay::sim {

/// Thrown through an actor's handler; the thrower has recorded the reason.
struct node_failure {};

/// While an object of this class exists, a failed INVARIANT throws node_failure. At most one may
/// exist at a time.
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

  /// The reason of the newest failure; empty: none.
  static const std::string& text() { return newest; }

private:
  static inline std::string newest;
};

} // namespace belay::sim
