#include "sim/checkers/changes/floor_checker.hpp"

#include "protocol/base/probe.hpp"

#include <algorithm>
#include <charconv>

namespace belay::sim {

std::optional<floor_checker::of_checkpoint> floor_checker::on_disk(std::size_t node) const {
  const auto& seen = seen_[node];
  const auto info = nodes_.disk(node).checkpoints()->info();
  if (!info || !*info)
    return std::nullopt;
  const auto index = (*info)->meta.index;
  if (seen.durable.index == index)
    return seen.durable;
  if (const auto tried = seen.floors.find(index); tried != seen.floors.end())
    return of_checkpoint{index, tried->second};
  return of_checkpoint{index, index};
}

void floor_checker::wrote(std::size_t node) {
  if (const auto found = on_disk(node)) // a store that has failed says nothing until the next start
    seen_[node].now_durable(*found);
}

broken floor_checker::look(std::size_t node) {
  auto& seen = seen_[node];
  const auto* machine = nodes_.machine(node);
  if (machine == nullptr || seen.life == nodes_.life(node))
    return std::nullopt;
  seen.life = nodes_.life(node);
  const auto found = on_disk(node);
  if (!found)
    seen = {{}, {}, {}, false, seen.life}; // the previous disk was lost
  else
    seen.now_durable(*found);
  if (found && found->index > machine->applied_index())
    return std::nullopt; // not what it started with: a snapshot came before its state machine ran (seed 102)
  const auto floor = machine->changes_counted().floor;
  if (floor < machine->applied_index())
    PROBE("changes: a server began with a window of before");
  const auto lowest = seen.durable.floor, index = seen.durable.index;
  // The window of another checkpoint is not here.
  const auto highest = lowest == index || seen.fell_back ? index : std::max(lowest, std::min(index, seen.tried.floor));
  if (lowest <= floor && floor <= highest)
    return std::nullopt;
  return "node " + std::to_string(node) + " began with the floor " + to_string(floor) + " and its checkpoint at " +
         to_string(index) + ", which was written when it was " + to_string(lowest);
}

broken floor_checker::reset(std::size_t node, std::string_view position) const {
  const auto* machine = nodes_.machine(node);
  std::uint64_t index = 0;
  const auto [end, error] = std::from_chars(position.data(), position.data() + position.size(), index);
  if (machine == nullptr || error != std::errc() || index == 0)
    return std::nullopt;
  const bool whole = end == position.data() + position.size();
  const auto floor = machine->changes_counted().floor.value;
  if (whole ? index < floor : index <= floor)
    return std::nullopt;
  return "the stream had everything up to " + std::string(position) +
         " and starts over, although the oldest retained index is " + std::to_string(floor);
}

} // namespace belay::sim
