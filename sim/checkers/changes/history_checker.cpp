#include "sim/checkers/changes/history_checker.hpp"

#include "protocol/base/probe.hpp"

#include <algorithm>

namespace belay::sim {

namespace {

// A member that has been silent for a minute since a server started counts as lost
// (docs/reference/changes.md). Clocks may run 5 % too fast.
constexpr std::chrono::seconds lost_after{57};
// What was in flight to the client when the older server became a member.
constexpr std::chrono::seconds underway_max{5};

} // namespace

bool history_checker::has_older_member(std::size_t node, virtual_time now) {
  const auto* core = node < nodes_.size() ? nodes_.core(node) : nullptr; // an agent forwards responses of any server
  if (core == nullptr || clocks_leap_ || now > virtual_time(lost_after))
    return false;
  bool there = false;
  for (std::size_t n = 0; n < nodes_.size(); ++n)
    there = there || (nodes_.level_of(n) < state::named_history_level && core->config().contains(nodes_.id_of(n)));
  if (!there) {
    older_member_since_.erase(node);
    return false;
  }
  return now - older_member_since_.emplace(node, now).first->second > underway_max;
}

broken history_checker::named(std::size_t node, log_index index, std::string_view name, virtual_time now) {
  const bool older = has_older_member(node, now);
  if (name.empty())
    return std::nullopt;
  if (older)
    return "a cursor names the history " + std::string(name) + ", and a member cannot read that";
  const auto restored = keys_.last_restore(index);
  const auto [known, is_new] = names_.emplace(restored, name);
  if (!is_new && known->second != name)
    return "the history after the restore at " + to_string(restored) + " is named " + std::string(name) +
           ", and it was named " + known->second;
  const auto same = std::count_if(names_.begin(), names_.end(), [&](const auto& each) { return each.second == name; });
  if (same != 1)
    return "two histories are named " + std::string(name);
  if (!restored.is_zero())
    PROBE("changes: a cursor of a history after a restore");
  return std::nullopt;
}

} // namespace belay::sim
