#include "protocol/state/changes/kept_loading.hpp"

#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"
#include "protocol/state/fields.hpp"
#include "protocol/state/tables.hpp"

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace belay::state {

namespace {

failure unfit(const kept_change& c, const char* what) {
  return failure{"change " + to_string(change_position{c.index, c.effect}) + ' ' + what};
}

} // namespace

status load_kept(tables& t, log_index floor, std::vector<kept_change> list) {
  const auto applied = t.changes.applied();
  std::unordered_map<std::string_view, std::size_t> newest; // by key, whose text is owned by a row in the list
  log_index at = floor;
  std::uint64_t effect = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto& each = list[i];
    auto& c = each.change;
    effect = each.index == at ? effect + 1 : 0;
    if (each.index < at || each.index <= floor || each.index > applied || each.effect != effect)
      return unfit(each, "is not in order");
    at = each.index;
    if (!c.after && (!c.before || each.goes_on))
      return unfit(each, "names no key");
    const std::string_view key = c.after ? c.after->key : c.before->key;
    const auto found = newest.find(key);
    if (each.goes_on) {
      if (found == newest.end() || c.before || !list[found->second].change.after)
        return unfit(each, "continues a change that is missing");
      c.before = list[found->second].change.after;
    }
    if (found != newest.end())
      found->second = i;
    else
      newest.emplace(key, i);
  }
  std::vector<kv_entry_ptr> read; // keeps alive the keys that `newest` may refer to
  for (const auto& [key, i] : newest) {
    auto& c = list[i].change;
    auto now = t.kv.find(key);
    const bool fits = !now == !c.after && (!now || same_in_all(*now, *c.after));
    if (!fits && !MUTANT(stale_window_taken))
      return unfit(list[i], "does not match the key in the checkpoint");
    if (fits)
      read.push_back(std::exchange(c.after, std::move(now))); // shared with the table's row
  }
  PROBE("changes: the window of before a restart goes on");
  t.changes.load(floor, std::move(list));
  return done{};
}

} // namespace belay::state
