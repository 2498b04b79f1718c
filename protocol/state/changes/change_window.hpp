#pragma once
// The newest changes of keys that this server has applied, in order, up to a limit in bytes.
// Not replicated, not in the digest; servers may differ. Whole entries leave it, oldest first.

#include "protocol/base/check.hpp"
#include "protocol/state/changes/change_queries.hpp"
#include "protocol/state/kept_changes.hpp"
#include "protocol/state/undo_log.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <memory_resource>
#include <vector>

namespace belay::state {

class change_window {
public:
  // Limits of one result; a client requests the rest in pieces. Examining this many takes < 1 ms.
  static constexpr std::size_t changes_max = 1024, value_bytes_max = 256u << 10, looked_at_max = 8192;
  static constexpr std::size_t history_max = 1024;
  static constexpr std::size_t freed_at_once = 4096; ///< changes: less than a millisecond

  /// Sets the limit in bytes.
  void limit(std::size_t bytes_max);
  /// Changes of a larger entry are not kept: collecting 65,536 takes about 10 ms, which delays
  /// others. Nor are those of an entry larger than the whole window, which could not hold it.
  static constexpr std::size_t changes_of_entry_max = 65'536;
  static std::size_t changes_max_of_entry(std::size_t bytes_max);
  std::size_t limit() const { return bytes_max_; }
  /// Nothing is known of entries up to this one: tables were loaded or replaced.
  void begin_at(log_index applied);
  /// An entry was applied: takes its changes from the journal. @pre index > applied()
  void add(log_index index, undo_log& log);

  // ---- a copy on disk, for the next start

  /// What the copy lacks; it counts as copied. If writing it fails, pass `all` the next time.
  unkept_changes take_unkept(bool all);
  /// Loads the copy: changes after `floor`, in order. @pre begin_at() was called with its index
  void load(log_index floor, std::vector<kept_change> list);

  log_index applied() const { return applied_; }
  /// All changes of later entries are retained.
  log_index floor() const { return floor_; }
  std::size_t bytes() const { return bytes_; }
  /// Recomputes the data derived from the changes. @returns what differs; nullopt: nothing
  std::optional<std::string> recount() const;
  std::size_t size() const { return held_->slots.size(); }
  /// Unused memory. Freeing it may take long, and any thread may do it.
  std::vector<std::shared_ptr<const void>> take_let_go() { return std::exchange(let_go_, {}); }
  bool has_let_go() const { return !let_go_.empty(); }

  /// Whether everything that happened after that position is retained.
  bool covers(const change_position& p) const;
  /// Changes only: the rows of a snapshot are in the tables.
  change_rows read(const kv_changes& q) const;
  change_rows history(const std::string& key) const;
  /// @param now the current row; null: there is none
  /// @returns the row at that index; null: there was none. @pre floor() <= index <= applied()
  kv_entry_ptr row_at(const std::string& key, log_index index, kv_entry_ptr now) const;

private:
  struct slot {
    log_index index;
    std::uint32_t effect; ///< an entry has fewer
    std::uint32_t next;   ///< distance in slots to the next slot of a key with this hash; 0: none
    key_change change;
    std::uint64_t previous; ///< number of the previous one of a key with this hash; < first_: none
    // Copies, so that eviction need not read rows that have long left the processor's cache:
    std::uint64_t hash;  ///< hash of its key
    std::uint64_t bytes; ///< that it counts for

    kv_entry row() const { return change.after ? *change.after : *change.before; }
    change_position position() const { return {index, effect}; }
  };

  static constexpr std::size_t slot_bytes = sizeof(slot) + 32; ///< with its entry in the table by keys
  static std::size_t bytes_of(const slot& s);
  static std::uint64_t hash_of(std::string_view key);
  static kv_change shown(const slot& s);
  const slot& numbered(std::uint64_t n) const {
    INVARIANT_IN_DEVELOPMENT(n >= first_ && n - first_ < held_->slots.size());
    return held_->slots[static_cast<std::size_t>(n - first_)];
  }
  /// Whether the row before this change is that of the key's previous slot. False: that slot was
  /// evicted.
  bool goes_on(const slot& s) const {
    return s.change.before && s.change.after && s.previous >= first_ &&
           numbered(s.previous).change.after == s.change.before;
  }
  void push(log_index index, std::uint64_t effect, key_change change);
  /// Calls `f(slot)`, newest first, until it returns false.
  template <class F>
  void for_each_of(const std::string& key, F&& f) const;
  void evict();
  void fetch_next_to_leave() const;

  std::size_t bytes_max_ = change_window_bytes_usual;
  std::size_t bytes_ = 0;
  log_index applied_, floor_;
  struct contents {
    /// Memory of evicted slots is reused for new ones.
    std::pmr::unsynchronized_pool_resource memory;
    std::pmr::deque<slot> slots{&memory};
  };
  std::unique_ptr<contents> held_ = std::make_unique<contents>();
  std::vector<std::shared_ptr<const void>> let_go_; ///< large contents, replaced
  std::uint64_t first_ = 1;                         ///< number of the oldest
  bool copied_ = false;                             ///< there is a copy with all changes up to copied_up_to_
  log_index copied_up_to_;
  std::uint64_t uncopied_ = 1; ///< number of the first that the copy lacks
  /// Slots whose previous slot of the same key is in the copy, but no longer in this window.
  std::vector<std::uint64_t> left_alone_;
  boost::unordered_flat_map<std::uint64_t, std::uint64_t> newest_; ///< by hash of the key: number of the newest
};

} // namespace belay::state
