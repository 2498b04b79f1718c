#include "actors/audit/audit_log.hpp"

#include "actors/telemetry/fatal_exceptions.hpp"
#include "actors/telemetry/log.hpp"

#include <cstdlib>
#include <utility>

namespace belay::actors {

namespace {

// A file that cannot be removed causes a warning with each rotation.
constexpr std::int64_t sent_again_after_ns = 60'000'000'000;

} // namespace

audit_log::audit_log(caf::actor_config& config, node_actors_ptr node_actors, rotated_file file,
                     std::function<std::int64_t()> wall_ns)
    : audit_log_actor::base(config), node_actors_(std::move(node_actors)), file_(std::move(file)),
      wall_ns_(std::move(wall_ns)) {
  end_node_by_exceptions_of(*this, node_actors_, "audit_log");
}

audit_log_actor::behavior_type audit_log::make_behavior() {
  return {
      [this](const write_audit& w) { write(w); },
      [this](stop_atom) { quit(); },
  };
}

void audit_log::write(const write_audit& w) {
  const auto now_ns = wall_ns_();
  auto appended = file_.append(*w.lines, now_ns);
  log_complaint(now_ns);
  if (w.gateway < node_actors_->gateways.size())
    send(node_actors_->gateways[w.gateway], audit_written{appended.lines, appended.bytes, std::move(appended.error)});
}

void audit_log::log_complaint(std::int64_t now_ns) {
  const auto complaint = file_.take_complaint();
  if (complaint.empty() || std::abs(now_ns - sent_ns_) < sent_again_after_ns)
    return;
  sent_ns_ = now_ns;
  log::warn("audit", "audit files cannot be rotated; lines are still written",
            {{"file", file_.name()}, {"error", complaint}});
}

} // namespace belay::actors
