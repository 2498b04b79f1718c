#pragma once
// Results of HTTP and TCP checks: a target is healthy or not at the end of a drawn duration.

#include "actors/agent/probes.hpp"
#include "sim/chance/tape.hpp"
#include "sim/environment/schedule.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace belay::sim {

class simulated_probes final : public actors::probe_runner {
public:
  /// @param well whether something listens at (host:port, or a URL) at this moment
  simulated_probes(schedule& time, tape& choices, stream from, std::function<bool(const std::string&)> well)
      : time_(time), tape_(choices), from_(from), well_(std::move(well)) {}

  void start(const agent::check_definition& check, finished then) override {
    const std::chrono::milliseconds takes(1 + tape_.choose(from_, takes_ms_max));
    time_.after(takes, [this, there = std::weak_ptr<char>(there_), target = check.tcp.empty() ? check.http : check.tcp,
                        then = std::move(then)] {
      if (there.expired())
        return;
      if (well_(target))
        then("passing", "connected to " + target);
      else
        then("critical", "no connection to " + target);
    });
  }
  void stop() override { there_.reset(); }

private:
  static constexpr std::uint64_t takes_ms_max = 300;

  schedule& time_;
  tape& tape_;
  stream from_;
  std::function<bool(const std::string&)> well_;
  std::shared_ptr<char> there_ = std::make_shared<char>(); ///< none: stopped, or destroyed
};

} // namespace belay::sim
