#pragma once
// Interface for running a check: the simulator and tests have their own implementations.

#include "protocol/agent/definitions.hpp"

#include <functional>
#include <string>

namespace belay::actors {

class probe_runner {
public:
  virtual ~probe_runner() = default;

  /// Called once for each start, on the thread of the runner, unless stopped before.
  using finished = std::function<void(std::string status, std::string output)>;
  /// Runs an HTTP, gRPC, TCP or script check; returns at once. @pre its kind is one of these
  virtual void start(const agent::check_definition& check, finished then) = 0;
  /// Ends running checks without reporting results.
  virtual void stop() = 0;
};

} // namespace belay::actors
