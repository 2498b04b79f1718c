#pragma once
// Every table reports its changes to this log. It maintains the digest, the rows that the next
// checkpoint lacks, the keys that an entry changed, and the undo log of the running transaction.

#include "protocol/base/check.hpp"
#include "protocol/base/text_hash.hpp"
#include "protocol/state/rows.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace belay::state {

/// A key before and after a change; at least one is not null.
struct key_change {
  kv_entry_ptr before, after; ///< null: the key did not exist, or no longer exists
  bool expired = false;       ///< removed because a session ended
};

class undo_log {
public:
  /// Stored with each row: its position in the log, if it changed since the last checkpoint.
  class bookmark {
    friend undo_log;
    std::uint32_t epoch = 0; ///< epoch of the checkpoint it belongs to; older: unchanged since then
    std::uint32_t position = 0;
  };

  /// Notes that row `key` of `t` changed. A hash of zero means no row; `now` is empty then.
  /// @param bookmark the row's bookmark; for a new row: bookmark_of_new()
  void row_changed(table t, std::string_view key, bookmark& bookmark, row_value now, std::uint64_t hash_before,
                   std::uint64_t hash_after) {
    INVARIANT(hash_before != 0 || hash_after != 0); // else a row that is not there was removed
    digest_ += hash_after - hash_before;
    note_row(t, key, bookmark, std::move(now));
    if (hash_after == 0 && !loading_)
      gone_[static_cast<std::size_t>(t)].insert_or_assign(std::string(key), bookmark);
  }
  /// The same for a row already taken out of the digest: it loses its position in the log.
  void note_row(table t, std::string_view key, bookmark& bookmark, row_value now) {
    if (loading_)
      return;
    INVARIANT(bookmark.epoch <= epoch_);
    if (bookmark.epoch != epoch_) {
      bookmark.epoch = epoch_;
      bookmark.position = static_cast<std::uint32_t>(dirty_.size());
      dirty_.push_back({t, std::string(key), std::move(now)});
    } else {
      INVARIANT(bookmark.position < dirty_.size());
      auto& noted = dirty_[bookmark.position];
      INVARIANT(noted.table == t); // the position was given to this row
      INVARIANT_IN_DEVELOPMENT(noted.key == key);
      noted.row = std::move(now);
    }
  }
  /// A removed row that comes back keeps its position, so each key needs only one.
  bookmark bookmark_of_new(table t, std::string_view key) const {
    const auto& gone = gone_[static_cast<std::size_t>(t)];
    if (gone.empty())
      return {};
    auto found = gone.find(key);
    return found == gone.end() ? bookmark{} : found->second;
  }
  /// A tree of rows with that sum of hashes was cut off. note_row() follows for each of them.
  void rows_cut(std::uint64_t hashes) { digest_ -= hashes; }
  void rows_put_back(std::uint64_t hashes) { digest_ += hashes; }

  std::uint64_t digest() const { return digest_; }

  // ---- changed keys of an entry, in order

  /// Max changed keys of an entry; above it none are kept: a follower could not receive them.
  void limit_keys(std::size_t most) { keys_max_ = most; }
  /// Whether key_changed() can be skipped for `more` keys, because no change of this entry is kept.
  bool forgets_keys(std::size_t more) {
    if (!loading_ && keys_.size() + more > keys_max_)
      forget_too_many();
    return loading_ || too_many_keys_;
  }
  void key_changed(kv_entry_ptr before, kv_entry_ptr after) {
    INVARIANT(before || after);
    INVARIANT_IN_DEVELOPMENT(!before || !after || before.key() == after.key());
    if (!forgets_keys(1))
      keys_.push_back({std::move(before), std::move(after), session_ends_});
  }
  /// Whether the changes that follow are caused by the end of a session.
  void session_ends(bool yes) { session_ends_ = yes; }
  /// Calls `take(change)` for each since the last call. Small buffers are kept for reuse.
  /// @returns false: there were more than limit_keys() allows; none were kept
  template <class F>
  bool take_keys(F&& take) {
    PRECONDITION(!recording_); // what is undone afterwards was taken already
    constexpr std::size_t capacity_kept = 64;
    const bool all = !too_many_keys_;
    if (all)
      for (auto& each : keys_)
        take(std::move(each));
    forget_keys();
    if (keys_.capacity() > capacity_kept)
      keys_.shrink_to_fit();
    return all;
  }
  /// Number of changes that take_keys() has not taken.
  std::size_t keys() const { return keys_.size(); }
  void forget_keys() {
    keys_.clear();
    too_many_keys_ = false;
  }

  // ---- undo log: while recording, tables save every row before they change it

  /// One undo step.
  struct step {
    dirty_row row;     ///< the previous row
    bool tree = false; ///< instead of a row: all keys under the prefix row.key, which were cut off together
  };
  bool recording() const { return recording_; }
  /// Number of the current recording; zero: there is none.
  std::uint64_t recording_number() const { return recording_ ? recordings_ : 0; }
  void start_recording() {
    PRECONDITION(!recording_); // the undo of the inner one would end the outer one
    PRECONDITION(!loading_);
    INVARIANT(before_.empty()); // nothing was remembered outside of a recording
    recording_ = true;
    ++recordings_;
    digest_before_ = digest_;
    keys_before_ = keys_.size();
    too_many_before_ = too_many_keys_;
  }
  /// @returns the undo steps, newest first: in this order they restore the start.
  std::vector<step> stop_recording() {
    PRECONDITION(recording_);
    recording_ = false;
    std::vector<step> steps(std::make_move_iterator(before_.rbegin()), std::make_move_iterator(before_.rend()));
    before_.clear();
    return steps;
  }
  /// After the undo: discards the key changes made while recording.
  void forget_recorded_keys() {
    PRECONDITION(!recording_);
    INVARIANT(digest_ == digest_before_); // the undo has restored every row
    keys_.resize(std::min(keys_before_, keys_.size()));
    too_many_keys_ = too_many_before_;
  }
  void discard_recording() {
    recording_ = false;
    before_.clear();
  }
  void remember(table t, std::string_view key, row_value before) {
    PRECONDITION(recording_);
    before_.push_back({{t, std::string(key), std::move(before)}});
  }
  void remember_tree(std::string_view prefix) {
    PRECONDITION(recording_);
    before_.push_back({{table::kv, std::string(prefix), {}}, true});
  }

  // ---- checkpoints

  /// Rows loaded from a checkpoint do not count as changed.
  void loading(bool yes) {
    PRECONDITION(!recording_);
    loading_ = yes;
  }
  bool is_loading() const { return loading_; }
  /// Replaces row_changed() for a row that is loaded.
  void row_loaded(std::uint64_t hash) { digest_ += hash; }
  /// Each row changed since the last call, as it is now. A row that was cut off with others
  /// and came back is in the list twice; the last one counts. O(1), whatever the number of rows.
  dirty_rows take_dirty() {
    PRECONDITION(!recording_); // an undo would restore rows that the checkpoint does not get
    ++epoch_;
    if (std::any_of(gone_.begin(), gone_.end(), [](const bookmarks& each) { return !each.empty(); }))
      let_go(std::make_shared<std::array<bookmarks, count_of<table>>>(std::exchange(gone_, {})));
    return std::exchange(dirty_, {});
  }

  /// Large contents for the caller of machine::tear_down() to free: entries and checkpoints do not
  /// wait until they are freed.
  void let_go(std::shared_ptr<const void> contents) { let_go_.push_back(std::move(contents)); }
  std::vector<std::shared_ptr<const void>> take_let_go() { return std::exchange(let_go_, {}); }
  bool has_let_go() const { return !let_go_.empty(); }

private:
  std::uint64_t digest_ = 0;
  bool recording_ = false, loading_ = false, session_ends_ = false;
  /// The recording may be undone, and what was reported before it is needed then.
  void forget_too_many() {
    keys_.resize(recording_ ? std::min(keys_before_, keys_.size()) : 0);
    too_many_keys_ = true;
  }

  std::size_t keys_max_ = SIZE_MAX;
  std::vector<key_change> keys_;
  bool too_many_keys_ = false;
  std::size_t keys_before_ = 0; ///< at the start of the recording
  bool too_many_before_ = false;
  std::uint64_t digest_before_ = 0; ///< likewise
  std::uint64_t recordings_ = 0;
  std::vector<step> before_;

  using bookmarks = std::unordered_map<std::string, bookmark, text_hash, std::equal_to<>>;

  std::uint32_t epoch_ = 1;
  dirty_rows dirty_;
  std::array<bookmarks, count_of<table>> gone_; // removed since the last checkpoint, by table
  std::vector<std::shared_ptr<const void>> let_go_;
};

} // namespace belay::state
