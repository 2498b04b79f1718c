#pragma once
// The keys: ordered bytewise, entries immutable and shared; an index from sessions to their locks.
//
// A recursive delete removes many keys at once, in time proportional to their chunks. The work
// for each key (the index of holders, the journal for the next checkpoint, freeing memory) is
// done later, in slices, by tear_down(). No decision and no result depends on its progress.

#include "protocol/state/undo_logged_map.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace belay::state {

/// Name of a key in a list of names: up to the first separator after the prefix (docs/contract/03,
/// section 2). nullopt: there is no separator, and the key is its own name.
std::optional<std::string_view> cut_name(std::string_view key, std::string_view prefix, std::string_view separator);
/// The smallest text greater than all texts starting with `prefix`; empty: there is none.
std::string after_all_under(std::string prefix);

class kv_table {
public:
  explicit kv_table(undo_log& log) : log_(log), rows_(log, table::kv) {}

  using location = undo_logged_map<kv_entry_ptr>::location;

  /// One search, to read and then write a key.
  location locate(std::string_view key) { return rows_.locate(key); }
  /// @returns null if the position is empty.
  static kv_entry_ptr entry(const location& p) { return p.row() ? *p.row() : nullptr; }
  void put(location p, kv_entry_ptr entry);
  void put(kv_entry_ptr entry);
  /// @pre the position is not empty
  void erase(location p);
  void erase(std::string_view key);
  /// @returns the number of removed keys.
  std::size_t erase_under(std::string_view prefix);
  /// Reverts the newest erase_under() of that prefix. @pre the journal undoes its recording
  void undo_erase_under(std::string_view prefix);

  /// Cleans up at most `rows_max` removed keys. @returns memory to free on any thread, maybe slow
  std::vector<std::shared_ptr<const void>> tear_down(std::size_t rows_max);
  /// Number of removed keys that tear_down() has not cleaned up yet.
  std::size_t removed() const;

  /// @returns null if there is no such key.
  kv_entry_ptr find(std::string_view key) const;
  /// As undo_logged_map::fetch.
  void fetch(std::span<const std::string_view> keys) const { rows_.fetch(keys); }
  std::size_t size() const { return rows_.size(); }
  /// Appends the entries under the prefix, ascending. @returns the largest ModifyIndex; zero: none.
  log_index list(std::string_view prefix, std::vector<kv_entry_ptr>& out) const;
  /// Names under the prefix, each up to the first separator
  /// after it, without duplicates (docs/contract/03, section 2).
  void names(std::string_view prefix, std::string_view separator, std::vector<std::string>& out) const;
  /// Largest ModifyIndex under the prefix; zero: no key.
  log_index newest_under(std::string_view prefix) const;
  /// Whether the session holds a key, or held one that was removed and is not cleaned up yet.
  bool tracks(std::string_view session) const { return held_.contains(session); }
  /// Keys whose lock the session holds, ascending.
  std::vector<std::string> held_by(std::string_view session) const;

  /// Calls `f(entry)` for each locked key, by session.
  template <class F>
  void for_each_held(F&& f) const {
    for (const auto& [session, keys] : held_)
      for (const auto& key : keys)
        if (const auto* entry = rows_.find(key)) // else it was removed, but not cleaned up yet
          f(*entry);
  }

  const undo_logged_map<kv_entry_ptr>& rows() const { return rows_; }
  auto maps() const { return std::tie(rows_); }
  /// recount() recomputes it from the rows (protocol/state/recount).
  auto beside() const { return std::tuple{kept_member{"held", held_}}; }
  static constexpr std::size_t bytes_of_no_row() { return sizeof(undo_log*) + sizeof(std::deque<removed_tree>); }
  /// Calls `f(entry)` for each removed entry whose holder may still be in held_.
  template <class F>
  void for_each_removed(F&& f) const {
    for (const auto& tree : removed_)
      tree.rows.for_each([&](const auto& slot) { f(slot.value.row); });
  }

private:
  struct removed_tree {
    undo_logged_map<kv_entry_ptr>::fragment rows;
    std::uint64_t recording = 0; ///< number of the journal's recording, which may undo it; zero: none
  };

  void track(const kv_entry_ptr& before, const kv_entry_ptr& after);
  void tear_down_key(std::string_view key);

  undo_log& log_;
  undo_logged_map<kv_entry_ptr> rows_;
  /// Includes removed keys until they are cleaned up.
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> held_;
  /// In the order of their removal; no key is in two of them, or in one of them and also in rows_.
  std::deque<removed_tree> removed_;
};

} // namespace belay::state
