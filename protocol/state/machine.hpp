#pragma once
// The replicated state machine. It takes commands (commands.hpp) in log order, and returns replies
// and changes. apply() is a function of its arguments and of earlier commands, so every node
// computes the same. Queries (queries.hpp) read the tables; rows (rows.hpp) are what checkpoints
// store.

#include "protocol/base/result.hpp"
#include "protocol/state/kept_changes.hpp"
#include "protocol/state/queries.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace belay::state {

/// A read of very many rows of one table, in slices between other reads and entries. All rows are
/// of the moment it began: table chunks are shared and copied on write (maps/chunked_map.hpp).
class long_read {
public:
  /// A read of fewer rows is not long: 8,192 keys take about a millisecond.
  static constexpr std::size_t rows_min_usual = 16'384;

  virtual ~long_read() = default;
  /// Examines up to `rows_max` rows. @returns true: the read is complete
  virtual bool go_on(std::size_t rows_max) = 0;
  /// What machine::evaluate() would have returned at the start. Call it once. @pre go_on() returned
  /// true
  virtual query_result take() = 0;
};

/// All rows of one moment.
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

  /// Applies a committed command. @pre index > applied_index(); now >= that of every earlier call.
  /// Appends the changes to `changed`.
  reply apply(log_index index, cluster_time now, const command& c, effects& changed);
  /// Prefetches the keys that these commands, which will be applied next, read. Does
  /// nothing if the table is small enough to be in the cache. Changes no state.
  void fetch(std::span<const command* const> next) const;
  /// An entry without a command (no-op, configuration) was committed. Appends expired tokens.
  void skip(log_index index, cluster_time now, effects& changed);

  /// Authorizes on behalf of `q.by`: a refusal, or the rows that the token may see. `now`:
  /// about the current cluster time, for tokens that expire; at least the newest entry's.
  query_result evaluate(const query& q, cluster_time now = {}) const;
  /// The same in slices. @returns null: the read is short; call evaluate()
  std::unique_ptr<long_read> begin_long_read(const query& q, cluster_time now = {},
                                             std::size_t rows_min = long_read::rows_min_usual) const;
  /// Why the query's token may not run it; nullopt: it may. The same refusal as evaluate()'s.
  std::optional<refusal> refuses(const query& q, cluster_time now = {}) const;
  /// When the query's token expires; zero: never, or there is no token.
  cluster_time end_of_token(const auth_context& by) const;
  /// The index of evaluate()'s result, without building it (a cheap re-check of a parked query).
  log_index index_of(const query& q) const;

  /// Sets the coordinates of the nodes. Not replicated: set them again after replacing the machine.
  void set_coordinates(coordinates::table_ptr known);

  /// How much of the change feed to keep (docs/reference/changes.md). Not replicated, like coordinates.
  void keep_changes(std::size_t bytes_max);
  struct changes_kept {
    std::size_t bytes = 0, count = 0;
    log_index floor; ///< changes of entries up to this one are no longer kept
  };
  changes_kept changes_counted() const;
  /// What is known of the history of indexes. Not replicated, like coordinates.
  void set_history(history_scope known);
  /// The history that this server's indexes belong to; none: it does not know its cluster yet.
  history_id history() const;

  log_index applied_index() const;
  cluster_time now() const; ///< time of the newest entry applied
  /// Sum over all rows; equal on every node at the same applied index. O(1) per change.
  std::uint64_t digest() const;
  /// Computes it from scratch; differs from digest() only if memory or a checkpoint was damaged.
  std::uint64_t recompute_digest() const;
  /// Recomputes every sum, counter, index and reverse list from the rows. Reads all rows.
  /// @returns table and member of the first difference; nullopt: there is none
  std::optional<std::string> recount() const;

  /// Rejects a doomed command before it reaches the log (docs/contract/04, section 3.1); nullopt:
  /// propose it. `now` is the leader's estimate of cluster time; apply() decides again. Other
  /// servers pass `unknown_time`: then nothing is rejected that a later entry might allow. Does
  /// not check permissions. `newest`: these tables include every acknowledged write, as on a
  /// leader with its lease. Then an acquire of a lock that another session holds is rejected, too.
  std::optional<reply> refuse_early(const command& c, cluster_time now, bool newest = false) const;

  static constexpr cluster_time unknown_time{UINT64_MAX};

  /// Whether refuse_early() counts the rows of trees, so that old tables might accept too many.
  static bool reads_trees(const command& c);

  /// What the command's token lacks; nullopt: permitted, or ACLs are off. Also the reply to a
  /// command that would change nothing and needs no permission: clients cannot fill the log with
  /// those. A permitted command may carry `authorized_at` = applied_index(). Unless a policy, role
  /// or token changes, apply() would decide the same for a write of one key, and skips the check.
  std::optional<reply> refuses(const command& c, cluster_time now) const;

  /// Whether a row shows that an entry of client_address_level was applied: without such entries no
  /// server has it. Tokens show nothing, as 0.2.0 restores accessors with capitals. O(sessions)
  bool has_client_rows() const;

  /// Whether an acl_initialize has been applied. No token can be checked before that.
  bool has_access_rows() const;

  /// Whether the catalog has any node.
  bool has_nodes() const;

  /// Whether a command of claims_level was applied. Only then are ended sessions remembered, and
  /// do grants of one entry get different fencing tokens; servers without claims do neither.
  bool has_claims() const;
  /// Whether the claim waits in its queue. False: it holds, has ended, or is unknown.
  bool waits(const claim_status& q) const;
  /// Next time at which claims need an entry: a deadline, or the end of a lock delay that withholds
  /// permits or has waiters. The leader proposes a claims_alarm then. <= now(): now. nullopt: none.
  std::optional<cluster_time> next_alarm() const;
  struct claim_totals {
    std::size_t resources = 0, holders = 0, waiters = 0, ghosts = 0, ends = 0, guards = 0;
    std::uint64_t queued_bytes = 0;
    std::uint64_t end_bytes = 0; ///< bytes of ends with a scope, and of claims whose ends will have one: end_shares
  };
  claim_totals claims_counted() const;
  /// For tests: replaces claim_end_bytes_max and claim_ends_share.
  void limit_claim_ends(std::uint64_t bytes_max, std::uint64_t share);
  /// For tests: replaces client_guards_max and guards_share.
  void limit_guards(std::uint64_t most, std::uint64_t share);

  /// Whether any outcome is kept.
  bool has_outcomes() const;
  struct outcome_totals {
    std::size_t count = 0;
    std::uint64_t bytes = 0;
  };
  outcome_totals outcomes_counted() const;

  void for_each_session(const std::function<void(const session_ptr&)>& f) const;
  std::size_t key_count() const;
  /// Entry of the newest restore; zero: none. Indexes that clients saw before it may exceed current
  /// ones.
  log_index restored_at() const;
  std::optional<cluster_time> locked_out_until(std::string_view key) const;
  /// Largest index of any tombstone; zero: there is none (for the reaper's schedule).
  log_index newest_tombstone() const;

  /// Rows changed since the last call (after load: none), in any order; of duplicates the last one
  /// counts. Check has_left_over() first: the work of tear_down() that is left is done here, at
  /// once.
  dirty_rows take_dirty();
  /// Call before take_dirty(). True: the tables were replaced; rows that it lacks are gone.
  bool replaced() const;
  /// Whether cleanup is pending. Entries that remove or replace many rows leave
  /// work that no read can observe to tear_down(), which does it in slices.
  bool has_left_over() const;
  /// Cleans up at most `rows_max` rows. @returns memory to free on any thread, which may take long
  std::vector<std::shared_ptr<const void>> tear_down(std::size_t rows_max);
  /// Limit up to which an entry cleans up the rows that it removes itself. Not replicated.
  void tear_down_at_once(std::size_t rows_max);

  /// All rows.
  std::vector<dirty_row> all_rows() const;
  /// The same for a full checkpoint: O(chunks of the tables); any thread may collect the rows.
  std::shared_ptr<const frozen_rows> freeze_rows() const;
  /// Rebuilds from a checkpoint: load_row for each row, then finish_load.
  void load_row(dirty_row row);
  void finish_load(log_index applied, cluster_time now);

  /// Changes that the disk copy lacks (docs/reference/changes.md); it counts as updated. `all`: it is empty.
  unkept_changes take_unkept_changes(bool all);
  /// After finish_load: loads the copy. @returns an error if it does not fit; then none are known
  status load_changes(log_index floor, std::vector<kept_change> list);

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace belay::state
