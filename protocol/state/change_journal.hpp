#pragma once
// Every table reports its changes here. The journal keeps the digest, the rows that the next checkpoint lacks, the keys that an entry has
// changed, and, while a transaction runs, the rows as they were, to take it back.

#include "protocol/base/text_hash.hpp"
#include "protocol/state/rows.hpp"

#include <array>
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
    if (loading_)
      return;
    if (mark.epoch != epoch_) {
      mark.epoch = epoch_;
      mark.position = static_cast<std::uint32_t>(dirty_.size());
      dirty_.push_back({t, std::string(key), std::move(now)});
    } else {
      dirty_[mark.position].row = std::move(now);
    }
    if (hash_after == 0)
      gone_[static_cast<std::size_t>(t)].insert_or_assign(std::string(key), mark);
  }

  /// A row that was removed and comes back keeps its place in the journal, so that each key has one.
  bookmark bookmark_of_new(table t, std::string_view key) const {
    const auto& gone = gone_[static_cast<std::size_t>(t)];
    if (gone.empty())
      return {};
    auto found = gone.find(key);
    return found == gone.end() ? bookmark{} : found->second;
  }

  std::uint64_t digest() const { return digest_; }

  // ---- keys, in the order in which an entry changes them

  void key_changed(kv_entry_ptr before, kv_entry_ptr after) {
    if (!loading_)
      keys_.push_back({std::move(before), std::move(after), session_ends_});
  }
  /// What changes follows from the end of a session.
  void session_ends(bool yes) { session_ends_ = yes; }
  /// Calls `take(change)` for each since the last call. The room for them stays, unless it was a large entry.
  template <class F>
  void take_keys(F&& take) {
    constexpr std::size_t room_kept = 64;
    for (auto& each : keys_)
      take(std::move(each));
    keys_.clear();
    if (keys_.capacity() > room_kept)
      keys_.shrink_to_fit();
  }
  void forget_keys() { keys_.clear(); }

  // ---- undo: while recording, tables remember every row before they change it

  bool recording() const { return recording_; }
  void start_recording() {
    recording_ = true;
    keys_before_ = keys_.size();
  }
  /// @returns the rows as they were, newest first: put back in this order they restore the start.
  std::vector<dirty_row> stop_recording() {
    recording_ = false;
    std::vector<dirty_row> rows(std::make_move_iterator(before_.rbegin()), std::make_move_iterator(before_.rend()));
    before_.clear();
    return rows;
  }
  /// When those rows were put back: nobody need know that they were away.
  void forget_recorded_keys() { keys_.resize(keys_before_); }
  void discard_recording() {
    recording_ = false;
    before_.clear();
  }
  void remember(table t, std::string_view key, row_value before) {
    before_.push_back({t, std::string(key), std::move(before)});
  }

  // ---- checkpoints

  /// While rows come out of a checkpoint, they are not what the next one lacks.
  void loading(bool yes) { loading_ = yes; }
  bool is_loading() const { return loading_; }
  /// In place of row_changed(), of a row that was not there.
  void row_loaded(std::uint64_t hash) { digest_ += hash; }
  /// Each row changed since the last call, once, as it is now. Costs nothing per row.
  std::vector<dirty_row> take_dirty() {
    ++epoch_;
    for (auto& gone : gone_)
      gone = {};
    return std::exchange(dirty_, {});
  }

private:
  std::uint64_t digest_ = 0;
  bool recording_ = false, loading_ = false, session_ends_ = false;
  std::vector<key_change> keys_;
  std::size_t keys_before_ = 0; ///< the recording
  std::vector<dirty_row> before_;

  using bookmarks = std::unordered_map<std::string, bookmark, text_hash, std::equal_to<>>;

  std::uint32_t epoch_ = 1;
  std::vector<dirty_row> dirty_;
  std::array<bookmarks, count_of<table>> gone_; // removed since the last checkpoint, by table
};

} // namespace belay::state
