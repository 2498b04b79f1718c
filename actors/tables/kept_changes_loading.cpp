#include "actors/tables/kept_changes_loading.hpp"

#include "actors/telemetry/log.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"

namespace belay::actors {

namespace {

void say_unavailable(log_index index, const std::string& error) {
  log::error("checkpointer", "change history from before this start is unavailable; watchers will resync",
             {{"index", index.value}, {"error", error}, {"advice", "check the disk"}});
}

} // namespace

kept_changes kept_changes::read(storage::checkpoint_store& store) {
  kept_changes kept;
  status rows = done{};
  log_index newest;
  const auto floor = store.load_changes([&](log_index index, std::uint64_t effect, std::string_view bytes) {
    std::optional<wire::value_place> value;
    auto change = wire::decode_change(index, effect, bytes, &value);
    newest = index;
    if (!change) {
      rows = failure{"change " + to_string(state::change_place{index, effect}) + " cannot be decoded"};
      return;
    }
    if (value)
      kept.values_.emplace_back(kept.list_.size(), *value);
    kept.list_.push_back(std::move(*change));
  });
  if (const auto s = floor ? rows : status(floor.why()); !s) {
    say_unavailable(newest, s.error());
    return {};
  }
  if (!*floor || MUTANT(window_forgotten_by_restart))
    return {};
  kept.floor_ = **floor;
  return kept;
}

std::optional<log_index> kept_changes::first_needed() const {
  return values_.empty() ? std::nullopt : std::optional(list_[values_.front().first].index);
}

void kept_changes::load_into(state::machine& machine, const std::vector<raft::entry>& log) && {
  if (!floor_)
    return;
  status s = done{};
  for (const auto& [place, value] : values_) {
    auto& change = list_[place];
    const bool there = !log.empty() && log.front().index <= change.index && change.index <= log.back().index;
    const auto* entry = there ? &log[change.index.value - log.front().index.value] : nullptr;
    if (entry == nullptr || !wire::take_value(change, value, view_of(entry->data))) {
      PROBE("changes: the log ends before a value of a kept change");
      s = failure{"the log does not have the value of change " +
                  to_string(state::change_place{change.index, change.effect})};
      break;
    }
  }
  if (s)
    s = machine.load_changes(*floor_, std::move(list_));
  if (s && !values_.empty())
    PROBE("changes: values of before a restart were taken from the log");
  if (!s)
    say_unavailable(machine.applied_index(), s.error());
}

} // namespace belay::actors
