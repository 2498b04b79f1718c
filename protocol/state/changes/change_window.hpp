#pragma once
// The newest changes of keys that this server has applied, in order, as many as fit into so many bytes. Not replicated: it is in no digest, and
// servers may know more or fewer of them. Whole entries of the log leave it, the oldest first.

#include "protocol/state/change_journal.hpp"
#include "protocol/state/changes/change_queries.hpp"
#include "protocol/state/kept_changes.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <memory_resource>
#include <vector>

namespace belay::state {

class change_window {
public:
  // Of one answer: what is longer is asked for in pieces. Looking at so many takes less than a millisecond.
  static constexpr std::size_t changes_max = 1024, value_bytes_max = 256u << 10, looked_at_max = 8192;
  static constexpr std::size_t history_max = 1024;
  static constexpr std::size_t freed_at_once = 4096; ///< changes: less than a millisecond

  /// From now on it holds at most so many bytes.
  void limit(std::size_t bytes_max);
  /// Of an entry that changes more keys than this none is kept: gathering them would keep others waiting, 65,536 take about 10 ms. And of one that
  /// takes more bytes than the window has, it would keep none, either.
  static constexpr std::size_t changes_of_entry_max = 65'536;
  static std::size_t changes_max_of_entry(std::size_t bytes_max);
  std::size_t limit() const { return bytes_max_; }
  /// Nothing is known of entries up to this one: tables were loaded or replaced.
  void begin_at(log_index applied);
  /// One entry was applied; what it changed is taken out of the journal. @pre index > applied()
  void add(log_index index, change_journal& journal);

  // ---- a copy on the disk, for the next start

  /// What the copy lacks. It has it from then on; if that fails, `all` is asked for the next time.
  unkept_changes take_unkept(bool all);
  /// What the copy knew of entries behind `floor`, in its order. @pre begin_at() was called with the entry up to which it knows them
  void load(log_index floor, std::vector<kept_change> list);

  log_index applied() const { return applied_; }
  /// All changes of entries behind this one are there.
  log_index floor() const { return floor_; }
  std::size_t bytes() const { return bytes_; }
  /// Counts again what it keeps beside the changes. @returns what differs; nullopt: nothing
  std::optional<std::string> recount() const;
  std::size_t size() const { return held_->slots.size(); }
  /// Memory that is not used any more. To free it may take long, and any thread may do it.
  std::vector<std::shared_ptr<const void>> take_let_go() { return std::exchange(let_go_, {}); }
  bool has_let_go() const { return !let_go_.empty(); }

  /// Whoever stands there gets everything that happened since.
  bool covers(const change_place& p) const;
  /// Of changes only: the rows of a snapshot are in the tables.
  change_rows read(const kv_changes& q) const;
  change_rows history(const std::string& key) const;
  /// @param now the row as it is; null: there is none
  /// @returns what it was at that index; null: there was none. @pre floor() <= index <= applied()
  kv_entry_ptr row_at(const std::string& key, log_index index, kv_entry_ptr now) const;

private:
  struct slot {
    log_index index;
    std::uint32_t effect; ///< of one entry there are fewer
    std::uint32_t next;   ///< so many slots behind it is the next of a key with this hash; 0: there is none
    key_change change;
    std::uint64_t previous; ///< number of the one before it of a key with this hash; smaller than first_: there is none
    // Once more, so that nobody has to look at rows that have not been in the processor's cache for long when it leaves:
    std::uint64_t hash;  ///< of its key
    std::uint64_t bytes; ///< that count for it

    kv_entry row() const { return change.after ? *change.after : *change.before; }
    change_place place() const { return {index, effect}; }
  };

  static constexpr std::size_t place_bytes = sizeof(slot) + 32; ///< and of the table by keys
  static std::size_t bytes_of(const slot& s);
  static std::uint64_t hash_of(std::string_view key);
  static kv_change shown(const slot& s);
  const slot& numbered(std::uint64_t n) const { return held_->slots[static_cast<std::size_t>(n - first_)]; }
  /// Whether it begins where the slot before it of its key has ended. False: that has left.
  bool goes_on(const slot& s) const {
    return s.change.before && s.change.after && s.previous >= first_ &&
           numbered(s.previous).change.after == s.change.before;
  }
  void push(log_index index, std::uint64_t effect, key_change change);
  /// Calls `f(slot)`, the newest first, until it says false.
  template <class F>
  void for_each_of(const std::string& key, F&& f) const;
  void evict();
  void fetch_next_to_leave() const;

  std::size_t bytes_max_ = change_window_bytes_usual;
  std::size_t bytes_ = 0;
  log_index applied_, floor_;
  struct contents {
    /// What leaves at one end serves for what comes at the other.
    std::pmr::unsynchronized_pool_resource memory;
    std::pmr::deque<slot> slots{&memory};
  };
  std::unique_ptr<contents> held_ = std::make_unique<contents>();
  std::vector<std::shared_ptr<const void>> let_go_; ///< large contents of before
  std::uint64_t first_ = 1;                         ///< number of the oldest
  bool copied_ = false;                             ///< there is a copy that knows all up to copied_up_to_
  log_index copied_up_to_;
  std::uint64_t uncopied_ = 1;            ///< number of the first that the copy lacks
  std::vector<std::uint64_t> left_alone_; ///< numbers of those that go on in the copy, and do not any more
  boost::unordered_flat_map<std::uint64_t, std::uint64_t> newest_; ///< by hash of the key: number of the newest
};

} // namespace belay::state
