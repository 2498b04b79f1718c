#include "sim/checkers/recovery.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

const char* awaited_of_election(const cluster& nodes, const std::set<std::size_t>& healed) {
  const auto any = [&](auto&& has) {
    return std::any_of(healed.begin(), healed.end(), [&](std::size_t i) {
      const auto* core = nodes.running(i) ? nodes.core(i) : nullptr;
      return core != nullptr && has(*core);
    });
  };
  if (any([](const raft::core& c) { return c.is_leader(); }))
    return "first entry";
  if (any([](const raft::core& c) { return c.soft().role != raft::role::follower; }))
    return "votes";
  return nodes.leader() ? "broken leader" : "time-out";
}

} // namespace

const char* awaited(const cluster& nodes, const std::set<std::size_t>& healed) {
  const auto leader = nodes.leader();
  if (!leader || !healed.contains(*leader))
    return awaited_of_election(nodes, healed);
  const auto any = [&](auto&& has) { return std::any_of(healed.begin(), healed.end(), has); };
  if (any([&](std::size_t i) { return nodes.state(i) == node_state::down && nodes.life(i) > 0; }))
    return "start";
  const auto& view = nodes.view(*leader);
  if (any([&](std::size_t i) { return nodes.running(i) && !view.config.contains(nodes.id_of(i)); }))
    return "admission";
  if (any([&](std::size_t i) {
        return nodes.running(i) &&
               (nodes.view(i).soft.leader != nodes.id_of(*leader) || nodes.view(i).soft.term != view.soft.term);
      }))
    return "leader unheard";
  const auto* core = nodes.core(*leader);
  const auto is_healed = [&](node_id id) {
    const auto at = nodes.node_of(id);
    return at && healed.contains(*at);
  };
  const auto progress = core->progress();
  const auto any_follower = [&](auto&& has) {
    return std::any_of(progress.begin(), progress.end(), [&](const auto& p) { return is_healed(p.id) && has(p); });
  };
  if (any_follower([](const auto& p) { return p.state == raft::follower_state::snapshot; }))
    return "snapshot";
  if (any_follower([&](const auto& p) { return p.match < core->last_index(); }) ||
      core->commit_index() < core->last_index())
    return "entries";
  return "applying";
}

} // namespace belay::sim
