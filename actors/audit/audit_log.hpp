#pragma once
// The actor that writes the audit log. It blocks on the disk: run it detached.

#include "actors/audit/rotated_file.hpp"
#include "actors/interfaces.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <functional>

namespace belay::actors {

/// Appends the lines of write_audit to the file, answers the gateway with audit_written. No syncs.
class audit_log : public audit_log_actor::base {
public:
  /// @param wall_ns wall clock in nanoseconds since 1970; called on this actor's thread
  audit_log(caf::actor_config& config, node_actors_ptr node_actors, rotated_file file,
            std::function<std::int64_t()> wall_ns);

  behavior_type make_behavior() override;

private:
  void write(const write_audit& w);
  void log_complaint(std::int64_t now_ns);

  node_actors_ptr node_actors_;
  rotated_file file_;
  std::function<std::int64_t()> wall_ns_;
  std::int64_t sent_ns_ = 0;
};

} // namespace belay::actors
