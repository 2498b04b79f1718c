#pragma once
// The keys: ordered bytewise, each entry immutable and shared, with an index from sessions to the keys they hold.
//
// Many keys that are removed together (a recursive delete) are gone at once, in a time that does not depend on their number but on that of
// their chunks. What has to be done for each of them (the index of holders, the journal of the next checkpoint, their memory) is done later, in
// slices: tear_down(). Nothing that decides or answers anything depends on how far that is.

#include "protocol/state/journaled_map.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace belay::state {

/// The name of a key in a list of names, up to the first separator behind the prefix (docs/contract/03, section 2); nullopt: there is none,
/// the key is its own name.
std::optional<std::string_view> cut_name(std::string_view key, std::string_view prefix, std::string_view separator);
/// The smallest text that is greater than all texts starting with `prefix`; empty: there is none.
std::string after_all_under(std::string prefix);

class kv_table {
public:
  explicit kv_table(change_journal& journal) : journal_(journal), rows_(journal, table::kv) {}

  using place = journaled_map<kv_entry_ptr>::place;

  /// One search for reading and then writing a key.
  place locate(std::string_view key) { return rows_.locate(key); }
  /// @returns null if the place is empty.
  static kv_entry_ptr entry(const place& p) { return p.row() ? *p.row() : nullptr; }
  void put(place p, kv_entry_ptr entry);
  void put(kv_entry_ptr entry);
  /// @pre the place is not empty
  void erase(place p);
  void erase(std::string_view key);
  /// @returns how many keys were removed.
  std::size_t erase_under(std::string_view prefix);
  /// The newest erase_under() that is remembered, of that prefix, did not happen. @pre the journal undoes its recording
  void undo_erase_under(std::string_view prefix);

  /// Tears down at most so many removed keys. @returns what is to be freed, which may take long: on any thread
  std::vector<std::shared_ptr<const void>> tear_down(std::size_t rows_max);
  /// How many removed keys are not torn down yet.
  std::size_t removed() const;

  /// @returns null if there is no such key.
  kv_entry_ptr find(std::string_view key) const;
  /// As journaled_map's.
  void fetch(std::span<const std::string_view> keys) const { rows_.fetch(keys); }
  std::size_t size() const { return rows_.size(); }
  /// Appends the entries under the prefix in ascending order. @returns the largest ModifyIndex among them; zero: none.
  log_index list(std::string_view prefix, std::vector<kv_entry_ptr>& out) const;
  /// Names under the prefix, cut after the first separator behind the prefix, without repetitions (docs/contract/03,
  /// section 2).
  void names(std::string_view prefix, std::string_view separator, std::vector<std::string>& out) const;
  /// Largest ModifyIndex under the prefix; zero: no key.
  log_index newest_under(std::string_view prefix) const;
  /// Keys whose lock the session holds, ascending.
  std::vector<std::string> held_by(std::string_view session) const;

  /// Calls `f(entry)` for each key that is locked, by session.
  template <class F>
  void for_each_held(F&& f) const {
    for (const auto& [session, keys] : held_)
      for (const auto& key : keys)
        if (const auto* entry = rows_.find(key)) // else it was removed, and is not torn down yet
          f(*entry);
  }

  const journaled_map<kv_entry_ptr>& rows() const { return rows_; }
  auto maps() const { return std::tie(rows_); }
  /// Each is counted again from the rows (protocol/state/recount).
  auto beside() const { return std::tuple{kept_member{"held", held_}}; }
  static constexpr std::size_t bytes_of_no_row() { return sizeof(change_journal*) + sizeof(std::deque<removed_tree>); }
  /// Calls `f(entry)` for each of which held_ may still know the holder.
  template <class F>
  void for_each_removed(F&& f) const {
    for (const auto& tree : removed_)
      tree.rows.for_each([&](const auto& slot) { f(slot.value.row); });
  }

private:
  struct removed_tree {
    journaled_map<kv_entry_ptr>::fragment rows;
    std::uint64_t recording = 0; ///< of the journal, which may put it back; zero: none
  };

  void track(const kv_entry_ptr& before, const kv_entry_ptr& after);
  void tear_down_key(std::string_view key);

  change_journal& journal_;
  journaled_map<kv_entry_ptr> rows_;
  /// Also of removed keys, until they are torn down.
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> held_;
  std::deque<removed_tree>
      removed_; ///< in the order in which they were removed; no key is in two of them, or in one and in rows_
};

} // namespace belay::state
