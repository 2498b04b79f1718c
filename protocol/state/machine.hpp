#pragma once
// The replicated state machine: commands (commands.hpp) in the order of the log go in, answers and changes come out. What
// apply() does is a function of its arguments and of what was applied before, so that it is the same on every node.
// Queries (queries.hpp) are answered from the tables as they are; rows (rows.hpp) go to checkpoints and come back.

#include "protocol/base/result.hpp"
#include "protocol/state/kept_changes.hpp"
#include "protocol/state/queries.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace belay::state {

/// A read of very many keys, done in slices between which others are served and entries are applied. All rows are of one moment, when it
/// began: chunks of the table are shared, and copied before they change (maps/chunked_map.hpp).
class long_read {
public:
  /// Of fewer keys it is not long: 8,192 take about a millisecond.
  static constexpr std::size_t rows_min_usual = 16'384;

  virtual ~long_read() = default;
  /// Looks at so many rows, or at the rest. @returns true: that was all
  virtual bool go_on(std::size_t rows_max) = 0;
  /// What machine::evaluate() would have said when it began. Once. @pre go_on() has said true
  virtual query_result take() = 0;
};

/// Every row of one moment.
class frozen_rows {
public:
  virtual ~frozen_rows() = default;
  virtual dirty_rows rows() const = 0;
};

class machine {
public:
  machine();
  ~machine();
  machine(machine&&) noexcept;
  machine& operator=(machine&&) noexcept;

  /// Applies one committed command. @pre index > applied_index(); now >= every earlier now.
  /// Appends what changed to `changed`.
  reply apply(log_index index, cluster_time now, const command& c, effects& changed);
  /// Of commands that will be applied next: brings what they read of the table of keys into the processor's cache, for all of them at the
  /// same time, unless there are so few keys that it is there anyway. Changes nothing.
  void fetch(std::span<const command* const> next) const;
  /// An entry without a command (no-op, configuration) was committed. Appends what its time has changed: tokens that are over.
  void skip(log_index index, cluster_time now, effects& changed);

  /// In somebody's name: a refusal if he may not ask it, else only the rows that he may see. `now`: about the cluster time now,
  /// for tokens that expire; that of the newest entry applied if it is earlier.
  query_result evaluate(const query& q, cluster_time now = {}) const;
  /// The same in slices. @returns null: it is short, evaluate() answers it
  std::unique_ptr<long_read> begin_long_read(const query& q, cluster_time now = {},
                                             std::size_t rows_min = long_read::rows_min_usual) const;
  /// Why the query is not answered in the name in which it is asked; nullopt: it is. What evaluate() would say.
  std::optional<refusal> refuses(const query& q, cluster_time now = {}) const;
  /// When the token is over in whose name it is asked; zero: never, or there is none.
  cluster_time end_of_token(const authority& by) const;
  /// The index evaluate() would answer with, without building the answer (to re-check a parked query cheaply).
  log_index index_of(const query& q) const;

  /// Where nodes are, from now on. No part of the replicated state: whoever replaces the machine sets it again.
  void set_places(coordinates::table_ptr known);

  /// Of changes of keys, for those who follow them (docs/changes.md). As of places: no part of the replicated state.
  void keep_changes(std::size_t bytes_max);
  struct changes_kept {
    std::size_t bytes = 0, count = 0;
    log_index floor; ///< those of entries up to this one are gone
  };
  changes_kept changes_counted() const;
  /// What is known of the history of indexes. As of places: no part of the replicated state.
  void set_history(history_scope known);
  /// Of indexes of this server now; none: it does not know its cluster yet.
  history_id history() const;

  log_index applied_index() const;
  cluster_time now() const; ///< of the newest entry applied
  /// Of all rows and nothing else, the same on every node at the same applied index. Kept up to date in O(1) per change.
  std::uint64_t digest() const;
  /// The same from scratch; differs only if memory or a checkpoint was damaged.
  std::uint64_t recompute_digest() const;
  /// Counts every sum, counter, index and reverse list again from the rows. Reads all of them.
  /// @returns what differs first: table and member; nullopt: nothing
  std::optional<std::string> recount() const;

  /// Refused early, before the log (docs/contract/04, section 3.1): nullopt = may be proposed.
  /// `now` is the leader's estimate of cluster time; apply() decides again. On other servers it is `unknown_time`: then
  /// nothing is refused that a later entry of the log might allow. Says nothing of permissions.
  /// `newest`: these tables have all that anybody was told of, as those of a leader with its lease. Then an acquire of a lock that another
  /// session has is refused, too: it comes too late.
  std::optional<reply> refuse_early(const command& c, cluster_time now, bool newest = false) const;

  static constexpr cluster_time unknown_time{UINT64_MAX};

  /// What the command's token may not, by the rows that are here; nullopt: it may, or ACLs are not in force. Also the answer of a command that
  /// would change nothing and needs no permission: nobody fills the log with such. What is not refused may come
  /// with `judged_at` = applied_index(): as long as no policy, role or token changes, apply() would find the same of a write of one key, and
  /// does not judge it again.
  std::optional<reply> refuses(const command& c, cluster_time now) const;

  /// Whether an acl_initialize was applied: before that no token is known, and nobody who brings one can be judged.
  bool has_access_rows() const;

  /// Whether the catalog has one.
  bool has_nodes() const;

  /// Whether a command of claims_level was applied. From then on ends of sessions are remembered, and grants of one entry have different
  /// fences; before, tables are those that servers without claims have.
  bool has_claims() const;
  /// Whether it waits in its queue. False: it is held, or has ended, or is not known.
  bool waits(const claim_status& q) const;
  /// When something of claims is due: a wait's deadline, the end of a ghost, or of a lock delay for which somebody waits. The leader proposes a
  /// claims_alarm then. At or before now(): at once, because one entry does not do all that is due. nullopt: nothing is.
  std::optional<cluster_time> next_alarm() const;
  struct claim_totals {
    std::size_t resources = 0, holders = 0, waiters = 0, ghosts = 0, ends = 0, guards = 0;
    std::uint64_t queued_bytes = 0;
    std::uint64_t end_bytes = 0; ///< of ends with a scope, and of claims that will have such: end_shares
  };
  claim_totals claims_counted() const;
  /// For tests: other limits than claim_end_bytes_max and claim_ends_share.
  void limit_claim_ends(std::uint64_t bytes_max, std::uint64_t share);
  /// The same for client_guards_max and guards_share.
  void limit_guards(std::uint64_t most, std::uint64_t share);

  /// Whether any is kept.
  bool has_outcomes() const;
  struct outcome_totals {
    std::size_t count = 0;
    std::uint64_t bytes = 0;
  };
  outcome_totals outcomes_counted() const;

  void for_each_session(const std::function<void(const session_ptr&)>& f) const;
  std::size_t key_count() const;
  /// Of the newest restore of an archive; zero: none. Indexes of before it may be above those of now.
  log_index restored_at() const;
  std::optional<cluster_time> locked_out_until(std::string_view key) const;
  /// Largest index of all tombstones; zero: none (for the reaper's schedule).
  log_index newest_tombstone() const;

  /// Rows changed since the last call, in any order; of one that is there twice the last one counts. After load: none. Waits for what
  /// tear_down() has not done: ask has_left_over() before.
  dirty_rows take_dirty();
  /// Ask before take_dirty(): true if the tables were replaced since its last call. Rows it does not name are gone then.
  bool replaced() const;
  /// Of entries that remove or replace much, what nobody can see is done later: by tear_down(), in slices between which others are
  /// served.
  bool has_left_over() const;
  /// One slice: at most so many rows. @returns what is to be freed, which may take long: on any thread
  std::vector<std::shared_ptr<const void>> tear_down(std::size_t rows_max);
  /// So many removed rows are torn down by the entry that removes them. Not replicated.
  void tear_down_at_once(std::size_t rows_max);

  /// Every row there is.
  std::vector<dirty_row> all_rows() const;
  /// The same for a full checkpoint: it takes time in proportion to the chunks of the tables, and the rows are gathered on any thread.
  std::shared_ptr<const frozen_rows> freeze_rows() const;
  /// Rebuilds from a checkpoint: load_row for each row, then finish_load.
  void load_row(dirty_row row);
  void finish_load(log_index applied, cluster_time now);

  /// Changes of keys that a copy on the disk lacks (docs/changes.md); it has them from then on. `all`: it has nothing.
  unkept_changes take_unkept_changes(bool all);
  /// After finish_load: the copy that belongs to those rows. @returns a failure if it does not fit them: no changes are known then
  status load_changes(log_index floor, std::vector<kept_change> list);

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace belay::state
