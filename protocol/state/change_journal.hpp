#pragma once
// Every table reports its changes here. The journal keeps the digest, the rows that the next checkpoint lacks, the keys that an entry has
// changed, and, while a transaction runs, the rows as they were, to take it back.

#include "protocol/base/text_hash.hpp"
#include "protocol/state/rows.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace belay::state {

/// A key before and after it was changed; not both are null.
struct key_change {
  kv_entry_ptr before, after; ///< null: there was or is none
  bool expired = false;       ///< it is gone because a session ended
};

class change_journal {
public:
  /// Kept beside each row: where the journal has it, if it has changed since the last checkpoint.
  class bookmark {
    friend change_journal;
    std::uint32_t epoch = 0; ///< of the checkpoint it belongs to; older: not changed since
    std::uint32_t position = 0;
  };

  /// Row `key` of `t` had this hash and has that one now; zero: there was or is none (then `now` is empty).
  /// @param mark the row's; of a row that is new: bookmark_of_new()
  void row_changed(table t, std::string_view key, bookmark& mark, row_value now, std::uint64_t hash_before,
                   std::uint64_t hash_after) {
    digest_ += hash_after - hash_before;
    note_row(t, key, mark, std::move(now));
    if (hash_after == 0 && !loading_)
      gone_[static_cast<std::size_t>(t)].insert_or_assign(std::string(key), mark);
  }
  /// The same of a row that was taken out of the digest already: it does not keep its place if it comes back.
  void note_row(table t, std::string_view key, bookmark& mark, row_value now) {
    if (loading_)
      return;
    if (mark.epoch != epoch_) {
      mark.epoch = epoch_;
      mark.position = static_cast<std::uint32_t>(dirty_.size());
      dirty_.push_back({t, std::string(key), std::move(now)});
    } else {
      dirty_[mark.position].row = std::move(now);
    }
  }
  /// A row that was removed and comes back keeps its place in the journal: rows that come and go need one for each key.
  bookmark bookmark_of_new(table t, std::string_view key) const {
    const auto& gone = gone_[static_cast<std::size_t>(t)];
    if (gone.empty())
      return {};
    auto found = gone.find(key);
    return found == gone.end() ? bookmark{} : found->second;
  }
  /// Rows with that sum of hashes were cut off together. note_row() tells of each of them later.
  void rows_cut(std::uint64_t hashes) { digest_ -= hashes; }
  void rows_put_back(std::uint64_t hashes) { digest_ += hashes; }

  std::uint64_t digest() const { return digest_; }

  // ---- keys, in the order in which an entry changes them

  /// Of one entry that changes more keys than this none is kept: whoever follows changes could not be told all of them.
  void limit_keys(std::size_t most) { keys_max_ = most; }
  /// Whether so many more need not be reported by key_changed(), because none of this entry is kept.
  bool forgets_keys(std::size_t more) {
    if (!loading_ && keys_.size() + more > keys_max_)
      forget_too_many();
    return loading_ || too_many_keys_;
  }
  void key_changed(kv_entry_ptr before, kv_entry_ptr after) {
    if (!forgets_keys(1))
      keys_.push_back({std::move(before), std::move(after), session_ends_});
  }
  /// What changes follows from the end of a session.
  void session_ends(bool yes) { session_ends_ = yes; }
  /// Calls `take(change)` for each since the last call. The room for them stays, unless it was a large entry.
  /// @returns false: there were more than limit_keys() allows, and none is known
  template <class F>
  bool take_keys(F&& take) {
    constexpr std::size_t room_kept = 64;
    const bool all = !too_many_keys_;
    if (all)
      for (auto& each : keys_)
        take(std::move(each));
    forget_keys();
    if (keys_.capacity() > room_kept)
      keys_.shrink_to_fit();
    return all;
  }
  void forget_keys() {
    keys_.clear();
    too_many_keys_ = false;
  }

  // ---- undo: while recording, tables remember every row before they change it

  /// One step back.
  struct step {
    dirty_row row;     ///< as it was
    bool tree = false; ///< not the row: all keys under the prefix row.key, which were cut off together
  };
  bool recording() const { return recording_; }
  /// A number of this recording, if there is one; zero: there is none.
  std::uint64_t recording_number() const { return recording_ ? recordings_ : 0; }
  void start_recording() {
    recording_ = true;
    ++recordings_;
    keys_before_ = keys_.size();
    too_many_before_ = too_many_keys_;
  }
  /// @returns the steps back, newest first: done in this order they restore the start.
  std::vector<step> stop_recording() {
    recording_ = false;
    std::vector<step> steps(std::make_move_iterator(before_.rbegin()), std::make_move_iterator(before_.rend()));
    before_.clear();
    return steps;
  }
  /// When those steps were done: nobody need know that the rows were away.
  void forget_recorded_keys() {
    keys_.resize(std::min(keys_before_, keys_.size()));
    too_many_keys_ = too_many_before_;
  }
  void discard_recording() {
    recording_ = false;
    before_.clear();
  }
  void remember(table t, std::string_view key, row_value before) {
    before_.push_back({{t, std::string(key), std::move(before)}});
  }
  void remember_tree(std::string_view prefix) { before_.push_back({{table::kv, std::string(prefix), {}}, true}); }

  // ---- checkpoints

  /// While rows come out of a checkpoint, they are not what the next one lacks.
  void loading(bool yes) { loading_ = yes; }
  bool is_loading() const { return loading_; }
  /// In place of row_changed(), of a row that was not there.
  void row_loaded(std::uint64_t hash) { digest_ += hash; }
  /// Each row changed since the last call, as it is now; twice, if it was cut off with others and came back: the last one counts. Costs nothing
  /// per row.
  dirty_rows take_dirty() {
    ++epoch_;
    for (auto& gone : gone_)
      gone = {};
    return std::exchange(dirty_, {});
  }

private:
  std::uint64_t digest_ = 0;
  bool recording_ = false, loading_ = false, session_ends_ = false;
  /// The recording may be undone, and what was reported before it is wanted then.
  void forget_too_many() {
    keys_.resize(recording_ ? std::min(keys_before_, keys_.size()) : 0);
    too_many_keys_ = true;
  }

  std::size_t keys_max_ = SIZE_MAX;
  std::vector<key_change> keys_;
  bool too_many_keys_ = false;
  std::size_t keys_before_ = 0; ///< the recording
  bool too_many_before_ = false;
  std::uint64_t recordings_ = 0;
  std::vector<step> before_;

  using bookmarks = std::unordered_map<std::string, bookmark, text_hash, std::equal_to<>>;

  std::uint32_t epoch_ = 1;
  dirty_rows dirty_;
  std::array<bookmarks, count_of<table>> gone_; // removed since the last checkpoint, by table
};

} // namespace belay::state
