#include "protocol/state/keys/kv_table.hpp"

#include "protocol/base/check.hpp"
#include "protocol/base/mutants.hpp"
#include "protocol/base/probe.hpp"

#include <algorithm>

namespace belay::state {

void kv_table::track(const kv_entry_ptr& before, const kv_entry_ptr& after) {
  const std::string_view old_holder = before ? before->session : std::string_view();
  const std::string_view new_holder = after ? after->session : std::string_view();
  if (old_holder == new_holder)
    return;
  if (!old_holder.empty()) {
    auto at = held_.find(old_holder);
    INVARIANT(at != held_.end());
    const auto key = at->second.find(before->key);
    INVARIANT(key != at->second.end());
    at->second.erase(key);
    if (at->second.empty())
      held_.erase(at);
  }
  if (new_holder.empty())
    return;
  const bool fresh = held_[std::string(new_holder)].emplace(after->key).second;
  INVARIANT(fresh); // an earlier hold of the key was forgotten, even if its tree waits to be torn down
}

void kv_table::put(location p, kv_entry_ptr entry) {
  auto old = kv_table::entry(p);
  PRECONDITION(!old || old.key() == entry.key()); // the position of that key
  if (!old && !removed_.empty() && !MUTANT(returning_key_torn_down_later))
    tear_down_key(entry.key());
  track(old, entry);
  log_.key_changed(std::move(old), entry);
  const auto key = entry.key(); // stays valid: the row keeps the entry alive
  rows_.put(p, key, std::move(entry));
}

void kv_table::put(kv_entry_ptr entry) {
  if (rows_.append_loaded(entry.key(), entry))
    return track(nullptr, entry);
  auto p = locate(entry.key());
  put(p, std::move(entry));
}

void kv_table::erase(location p) {
  PRECONDITION(p.row() != nullptr);
  const auto old = entry(p);
  track(old, nullptr);
  log_.key_changed(old, nullptr);
  rows_.erase(p, old.key());
}

void kv_table::erase(std::string_view key) {
  auto p = locate(key);
  if (p.row())
    erase(p);
}

std::size_t kv_table::erase_under(std::string_view prefix) {
  auto rows = rows_.cut_under(prefix);
  const auto count = rows.size();
  if (count == 0)
    return 0;
  if (!log_.forgets_keys(count))
    rows.for_each([&](const auto& slot) { log_.key_changed(slot.value.row, nullptr); });
  if (log_.recording())
    log_.remember_tree(prefix);
  removed_.push_back({std::move(rows), log_.recording_number()});
  return count;
}

void kv_table::undo_erase_under(std::string_view prefix) {
  PRECONDITION(!log_.recording());
  INVARIANT(!removed_.empty());
  INVARIANT(removed_.back().recording != 0); // only a recording is undone
  auto tree = std::move(removed_.back());
  removed_.pop_back();
  // Keys of the tree that were created again, and must be undone first.
  std::vector<kv_entry_ptr> there;
  list(prefix, there);
  for (const auto& e : there)
    erase(e.key());
  rows_.put_back(prefix, std::move(tree.rows));
  for (auto& e : there)
    put(std::move(e));
}

/// A removed key is created again.
void kv_table::tear_down_key(std::string_view key) {
  std::size_t found = 0;
  for (auto& tree : removed_)
    tree.rows.extract(key, [&](const auto& slot) {
      ++found;
      PROBE("kv: a key came back before it was torn down");
      if (tree.recording != 0 && tree.recording == log_.recording_number() && !MUTANT(removed_tree_put_back_in_part))
        log_.remember(table::kv, key, slot.value.row);
      track(slot.value.row, nullptr);
      rows_.note_gone(key, slot.value);
    });
  INVARIANT(found <= 1); // a key is in at most one removed tree
}

std::size_t kv_table::removed() const {
  std::size_t count = 0;
  for (const auto& tree : removed_)
    count += tree.rows.size();
  return count;
}

std::vector<std::shared_ptr<const void>> kv_table::tear_down(std::size_t rows_max) {
  PRECONDITION(!log_.recording()); // an undo may put the trees back
  std::vector<std::shared_ptr<const void>> freed;
  for (; !removed_.empty(); removed_.pop_front()) {
    auto& rows = removed_.front().rows;
    for (; rows.size() > 0; --rows_max) {
      if (rows_max == 0)
        return freed;
      const auto& last = rows.last();
      track(MUTANT(tree_delete_leaves_holders) ? nullptr : last.value.row, nullptr);
      rows_.note_gone(last.key(), last.value);
      if (auto memory = rows.drop_last())
        freed.push_back(std::move(memory));
    }
  }
  return freed;
}

kv_entry_ptr kv_table::find(std::string_view key) const {
  const auto* row = rows_.find(key);
  return row ? *row : nullptr;
}

log_index kv_table::list(std::string_view prefix, std::vector<kv_entry_ptr>& out) const {
  log_index newest;
  rows_.for_each_under(prefix, [&](const kv_entry_ptr& e) {
    newest = std::max(newest, e.modify_index());
    out.push_back(e);
  });
  return newest;
}

std::string after_all_under(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xFF)
    prefix.pop_back();
  if (!prefix.empty())
    prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

std::optional<std::string_view> cut_name(std::string_view key, std::string_view prefix, std::string_view separator) {
  const auto cut = separator.empty() ? std::string_view::npos : key.find(separator, prefix.size());
  return cut == std::string_view::npos ? std::nullopt : std::optional(key.substr(0, cut + separator.size()));
}

void kv_table::names(std::string_view prefix, std::string_view separator, std::vector<std::string>& out) const {
  for (auto at = rows_.lower_bound(prefix); at != rows_.end() && starts_with(at->key(), prefix);) {
    const auto key = at->key();
    const auto cut = cut_name(key, prefix, separator);
    out.emplace_back(cut.value_or(key));
    if (!cut) {
      ++at;
      continue;
    }
    // All keys that start with this truncated name are truncated to it: skip them in one step.
    const auto next = after_all_under(out.back());
    at = next.empty() ? rows_.end() : rows_.lower_bound(next);
  }
}

log_index kv_table::newest_under(std::string_view prefix) const {
  return rows_.newest_under(prefix);
}

std::vector<std::string> kv_table::held_by(std::string_view session) const {
  auto at = held_.find(session);
  if (at == held_.end())
    return {};
  std::vector<std::string> keys;
  for (const auto& key : at->second)
    if (removed_.empty() || rows_.find(key) != nullptr || MUTANT(removed_keys_are_held))
      keys.push_back(key);
  return keys;
}

} // namespace belay::state
