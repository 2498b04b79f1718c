// raft_peer: health of the members, and what the leader does about it automatically
// (docs/contract/12, docs/internals/adr/0013).

#include "actors/consensus/raft_peer.hpp"
#include "actors/telemetry/log.hpp"
#include "protocol/base/mutants.hpp"

#include <algorithm>

namespace belay::actors {

namespace {

// An attempt takes at most one election timeout.
constexpr std::chrono::seconds transfer_again{2};

} // namespace

void raft_peer::on_autopilot_changed(const autopilot_changed& a) {
  const bool set = a.settings.modify_index != state::autopilot_settings().modify_index;
  const auto& s = set ? a.settings : settings_.autopilot;
  const auto time = [](std::int64_t ns) { return std::chrono::nanoseconds(ns); };
  autopilot_.follow({s.cleanup_dead_servers, s.min_quorum, time(s.server_stabilization_ns),
                     time(s.last_contact_threshold_ns), s.max_trailing_logs});
}

http::server_health raft_peer::health_of(const raft::member& m, const std::vector<raft::progress_view>& progress,
                                         std::chrono::nanoseconds silence_max, std::uint64_t behind_max) const {
  http::server_health s;
  s.id = m.uuid;
  s.name = m.name;
  s.address = with_brackets(m.address);
  s.leader = m.id == self_.id;
  s.alive = is_alive(m.id, progress) || MUTANT(dead_server_told_healthy);
  s.last_index = core_.last_index();
  for (const auto& p : progress)
    if (!s.leader && p.id == m.id) {
      s.last_contact = p.silent_ticks * std::chrono::nanoseconds(settings_.limits.tick);
      s.last_index = p.match;
    }
  s.last_term = core_.term_at(s.last_index);
  const auto* sent = formation_.find(m.id);
  s.disk_full = s.leader ? disk_full_ : sent != nullptr && sent->disk_full;
  s.healthy = s.alive && (!s.disk_full || MUTANT(full_disk_told_healthy)) &&
              (s.last_contact <= silence_max || MUTANT(dead_server_told_healthy)) &&
              s.last_index.value + behind_max >= core_.last_index().value;
  s.voter = core_.config().is_voter(m.id);
  s.level = level_of_member(m.id);
  return s;
}

http::health_report raft_peer::health(const forward::describe_health& rules) {
  const auto progress = core_.progress();
  const auto wall = settings_.wall_clock();
  std::vector<http::server_health> servers;
  for (const auto& m : core_.config().members) {
    auto s = health_of(m, progress, std::chrono::nanoseconds(rules.last_contact_threshold_ns), rules.max_trailing_logs);
    s.version = rules.version;
    const auto since = autopilot_.unchanged_since(m.id);
    const auto unchanged =
        std::chrono::duration_cast<std::chrono::milliseconds>(since ? local_now() - *since : raft::local_time{0});
    s.stable_since_ms = wall.value - std::min(wall.value, static_cast<std::uint64_t>(unchanged.count()));
    servers.push_back(std::move(s));
  }
  return http::report_on(std::move(servers), core_.config().voters.size());
}

/// Called on every tick.
void raft_peer::look_at_members() {
  if (!leading())
    return;
  autopilot_.begin_look(core_, local_now());
  const auto& rules = autopilot_.rules();
  const auto progress = core_.progress();
  for (const auto& m : core_.config().members)
    autopilot_.saw(m.id, health_of(m, progress, rules.last_contact_threshold, rules.max_trailing_logs).healthy);
}

/// A voter that was restarted as a replica is demoted by the next leader.
void raft_peer::transfer_if_replica() {
  if (!settings_.replica || !serving_ || now() < next_transfer_)
    return;
  next_transfer_ = now() + transfer_again;
  const auto heirs = formation_.heirs(core_.config());
  const raft::progress_view* best = nullptr;
  const auto progress = core_.progress();
  for (const auto& p : progress)
    if (std::find(heirs.begin(), heirs.end(), p.id) != heirs.end() && p.state == raft::follower_state::replicate &&
        p.silent_ticks <= settings_.limits.election_ticks && (best == nullptr || p.match > best->match))
      best = &p;
  if (best != nullptr)
    return withdraw_lease(best->id);
  const std::string why = "no other voter can lead";
  if (complaint_log_limit_.may_write(why, now()))
    log::warn("raft_peer", "this server is configured as a read replica, but leads and keeps its vote",
              {{"reason", why}});
}

} // namespace belay::actors
