#include "protocol/forward/departure.hpp"

#include "protocol/raft/configuration.hpp"

#include <algorithm>

namespace belay::forward {

namespace {

bool contains(const std::vector<node_id>& list, node_id id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

/// The voters after the change in progress, if there is one, except this server.
std::vector<node_id> others_who_vote(const raft::configuration& now, node_id self) {
  auto all = now.voters;
  std::erase(all, self);
  return all;
}

std::string names_without(const raft::configuration& config, node_id self) {
  std::string out;
  for (const auto& m : config.members)
    if (m.id != self)
      out += (out.empty() ? "" : ", ") + m.name;
  return out;
}

} // namespace

std::optional<std::string> too_few_without(const raft::configuration& now, node_id leaving_member,
                                           const std::vector<node_id>& reachable) {
  const auto stay = others_who_vote(now, leaving_member);
  const auto alive = static_cast<std::size_t>(
      std::count_if(stay.begin(), stay.end(), [&](node_id id) { return contains(reachable, id); }));
  if (alive >= stay.size() / 2 + 1)
    return std::nullopt;
  return "of the " + std::to_string(stay.size()) + " remaining voters only " + std::to_string(alive) +
         " can be reached, which is not a majority: bring the others back, or remove them first";
}

departure::step departure::next(const situation& here, time now) {
  if (answer_)
    return over{*answer_};
  if (!begun_)
    begun_ = now;
  const auto others = others_who_vote(here.config, here.self);
  if (!here.config.contains(here.self))
    return over{done{}};
  if (others.empty() && here.config.is_voter(here.self)) {
    auto left_behind = names_without(here.config, here.self);
    if (left_behind.empty())
      return over{done{}};
    return over{failure{"it is the only voter, and without it " + left_behind +
                        " could not commit anything: make another server a voter first, or make them leave, or remove "
                        "them with `belay operator raft remove-peer`"}};
  }
  if (requested_)
    return wait{};
  const bool leads = here.leader == here.self;
  if (leads && !here.serves)
    return wait{};
  if (leads && now < next_transfer_)
    return wait{};
  if (leads) {
    if (auto why = too_few_without(here.config, here.self, here.reachable)) {
      if (now < *begun_ + timeout)
        return wait{};
      return over{failure{*why}};
    }
    std::vector<node_id> candidates;
    std::copy_if(others.begin(), others.end(), std::back_inserter(candidates),
                 [&](node_id id) { return contains(here.reachable, id); });
    if (transfers_ < std::min(candidates.size(), transfers_max) && !here.config.joint()) {
      next_transfer_ = now + transfer_limit;
      return transfer{candidates[transfers_++]};
    }
  } else if (here.leader.is_zero() && now < next_transfer_) {
    return wait{}; // the target's election
  }
  requested_ = true;
  return ask_leader{};
}

} // namespace belay::forward
