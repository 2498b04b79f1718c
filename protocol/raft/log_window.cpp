#include "protocol/raft/log_window.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"

#include <algorithm>
#include <iterator>

namespace belay::raft {

bool log_window::restore(const snapshot_meta& snapshot, std::vector<entry> entries) {
  restart(snapshot);
  if (entries.empty())
    return snapshot.index.is_zero() || MUTANT(empty_log_taken_as_fitting);
  const auto first = entries.front().index;
  const auto last_on_disk = entries.back().index;
  PRECONDITION(!first.is_zero() && first <= snapshot.index.next());
  if (last_on_disk < snapshot.index)
    return false;
  if (first <= snapshot.index && entries[snapshot.index.value - first.value].term != snapshot.term)
    return false;
  std::size_t skip = 0;
  if (first <= snapshot.index) {
    // The term before the first entry is unknown, so that entry itself becomes the base. Entries up
    // to the snapshot are kept: a follower that is slightly behind gets them instead of a snapshot.
    base_ = first;
    base_term_ = entries.front().term;
    base_time_ = entries.front().time;
    skip = 1;
  }
  for (std::size_t i = skip; i < entries.size(); ++i) {
    auto& e = entries[i];
    PRECONDITION(e.index.value == first.value + i);
    if (e.index > snapshot.index) {
      push(std::move(e));
    } else {
      entries_.push_back(std::move(e)); // its configuration, if it has one, is older than the snapshot's
    }
  }
  INVARIANT(last() == last_on_disk);
  INVARIANT(base_ <= snapshot.index);
  check_consistency();
  return true;
}

term_id log_window::term_at(log_index i) const {
  if (i == base_)
    return base_term_;
  return holds(i) ? at(i).term : term_id{};
}

cluster_time log_window::time_at(log_index i) const {
  if (i == base_)
    return base_time_;
  return holds(i) ? at(i).time : cluster_time{};
}

const entry& log_window::at(log_index i) const {
  PRECONDITION(holds(i));
  return entries_[i.value - base_.value - 1];
}

bool log_window::append(entry e) {
  PRECONDITION(e.term >= last_term()); // dissertation 3.4, 3.5; last_not_above() relies on it
  PRECONDITION(e.time >= last_time());
  return push(std::move(e));
}

/// For entries from the disk, too, whose terms and times nothing has compared.
bool log_window::push(entry e) {
  PRECONDITION(e.index == last().next());
  PRECONDITION(e.data != nullptr);
  const bool changes = e.kind == entry_kind::configuration;
  if (changes) {
    auto c = decode_configuration(*e.data);
    PRECONDITION(c.has_value());
    configs_.push_back({e.index, std::move(*c)});
  }
  entries_.push_back(std::move(e));
  return changes;
}

bool log_window::truncate_from(log_index i) {
  PRECONDITION(holds(i));
  PRECONDITION(configs_.front().index < i); // that configuration is committed
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i.value - base_.value - 1), entries_.end());
  bool changes = false;
  while (!MUTANT(config_not_rolled_back) && configs_.size() > 1 && configs_.back().index >= i) {
    configs_.pop_back();
    changes = true;
  }
  INVARIANT(last() == i.prev());
  check_consistency();
  return changes;
}

void log_window::restart(const snapshot_meta& snapshot) {
  entries_.clear();
  base_ = snapshot.index;
  base_term_ = snapshot.term;
  base_time_ = snapshot.time;
  configs_.clear();
  configs_.push_back({snapshot.index, snapshot.config});
  check_consistency();
}

void log_window::check_consistency() const {
  INVARIANT(!configs_.empty());
  INVARIANT(configs_.back().index <= last()); // docs/internals/pitfalls.md R7
  INVARIANT(entries_.empty() || entries_.front().index == first());
  INVARIANT(entries_.empty() || entries_.back().index == last());
}

void log_window::forget_until(log_index i) {
  PRECONDITION(i <= last());
  if (i <= base_)
    return;
  const auto kept_last = last();
  base_term_ = at(i).term;
  base_time_ = at(i).time;
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(i.value - base_.value));
  base_ = i;
  while (configs_.size() > 1 && configs_[1].index <= i)
    configs_.pop_front();
  INVARIANT(last() == kept_last);
  check_consistency();
}

std::vector<entry> log_window::slice(log_index from, std::size_t count_max, std::size_t bytes_max) const {
  PRECONDITION(holds(from));
  std::vector<entry> out;
  std::size_t bytes = 0;
  for (auto i = from.value - base_.value - 1; i < entries_.size() && out.size() < std::max<std::size_t>(count_max, 1);
       ++i) {
    const auto& e = entries_[i];
    if (!out.empty() && bytes + e.data->size() > bytes_max)
      break;
    bytes += e.data->size();
    out.push_back(e);
  }
  INVARIANT(!out.empty()); // or a follower would wait for these entries forever
  INVARIANT(out.front().index == from);
  return out;
}

std::vector<entry> log_window::copy(log_index from, log_index to) const {
  if (from > to)
    return {};
  PRECONDITION(holds(from));
  PRECONDITION(holds(to));
  const auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(from.value - base_.value - 1);
  std::vector<entry> out(begin, begin + static_cast<std::ptrdiff_t>(to.value - from.value + 1));
  INVARIANT(out.front().index == from);
  INVARIANT(out.back().index == to);
  return out;
}

log_index log_window::last_not_above(log_index i, term_id t) const {
  PRECONDITION(i <= last());
  if (i <= base_)
    return i;
  // Terms never decrease along the log.
  const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(i.value - base_.value);
  const auto above = std::upper_bound(entries_.begin(), end, t, [](term_id v, const entry& e) { return v < e.term; });
  return log_index{base_.value + static_cast<std::uint64_t>(above - entries_.begin())};
}

const configuration* log_window::config_at(log_index i) const {
  for (auto it = configs_.rbegin(); it != configs_.rend(); ++it)
    if (it->index <= i)
      return &it->config;
  return nullptr;
}

bool log_window::names_from(log_index i, node_id id) const {
  for (auto it = configs_.rbegin(); it != configs_.rend(); ++it) {
    if (it->config.contains(id))
      return true;
    if (it->index <= i)
      break;
  }
  return false;
}

} // namespace belay::raft
