#include "protocol/state/keys/tombstones.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"

#include <algorithm>

namespace belay::state {

void tombstones::bury_key(std::string_view key, log_index index) {
  const auto* old = rows_.find(key);
  put({std::string(key), index, old ? old->tree_index : log_index{}});
}

void tombstones::bury_tree(std::string_view prefix, log_index index) {
  PRECONDITION(!prefix.empty());
  put({std::string(prefix), index, index});
}

void tombstones::reap(log_index up_to) {
  while (!by_index_.empty() && by_index_.begin()->first <= (MUTANT(tombstones_reaped_early) ? up_to.next() : up_to)) {
    PROBE("kv: tombstone reaped");
    erase(std::string(by_index_.begin()->second));
  }
}

log_index tombstones::newest_under(std::string_view prefix) const {
  return rows_.newest_under(prefix);
}

log_index tombstones::newest_tree_around(std::string_view prefix) const {
  log_index newest;
  for (const auto& [length, count] : tree_lengths_) {
    if (length >= prefix.size())
      break;
    if (auto at = trees_.find(prefix.substr(0, length)); at != trees_.end())
      newest = std::max(newest, at->second);
  }
  return newest;
}

log_index tombstones::newest() const {
  return by_index_.empty() ? log_index{} : by_index_.rbegin()->first;
}

void tombstones::unindex(const tombstone& row) {
  const auto forgotten = by_index_.erase({row.index, row.key});
  INVARIANT(forgotten == 1);
  if (row.tree_index.is_zero())
    return;
  const auto trees_forgotten = trees_.erase(row.key);
  INVARIANT(trees_forgotten == 1);
  auto at = tree_lengths_.find(row.key.size());
  INVARIANT(at != tree_lengths_.end());
  if (--at->second == 0)
    tree_lengths_.erase(at);
}

void tombstones::put(tombstone row) {
  auto p = rows_.locate(row.key);
  if (const auto* old = p.row())
    unindex(*old);
  by_index_.emplace(row.index, row.key);
  if (!row.tree_index.is_zero()) {
    trees_[row.key] = row.tree_index;
    ++tree_lengths_[row.key.size()];
    INVARIANT(tree_lengths_.size() <= trees_.size());
  }
  const std::string key = row.key;
  rows_.put(p, key, std::move(row));
  INVARIANT(by_index_.size() == rows_.size());
}

void tombstones::erase(std::string_view key) {
  auto p = rows_.locate(key);
  if (!p.row())
    return;
  unindex(*p.row());
  rows_.erase(p, key);
  INVARIANT(by_index_.size() == rows_.size()); // else reap() finds a tombstone without a row for ever
  INVARIANT(trees_.empty() == tree_lengths_.empty());
}

} // namespace belay::state
