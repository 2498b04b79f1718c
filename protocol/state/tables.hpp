#pragma once
// All tables of the state machine, and what one entry of the log may use of them.

#include "protocol/coordinates/table.hpp"
#include "protocol/state/acl/acl_table.hpp"
#include "protocol/state/catalog/catalog_table.hpp"
#include "protocol/state/changes/change_window.hpp"
#include "protocol/state/claims/tables/claim_tables.hpp"
#include "protocol/state/counters.hpp"
#include "protocol/state/keys/kv_table.hpp"
#include "protocol/state/keys/lock_delay.hpp"
#include "protocol/state/keys/tombstones.hpp"
#include "protocol/state/operators/settings_tables.hpp"
#include "protocol/state/outcomes/outcome_table.hpp"
#include "protocol/state/queries.hpp"
#include "protocol/state/restore/staging.hpp"
#include "protocol/state/sessions/session_table.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace belay::state {

/// Does not move in memory: every table refers to the journal.
struct tables {
  change_journal journal;
  kv_table kv{journal};
  tombstones graves{journal};
  session_table sessions{journal};
  lock_delay delays{journal};
  catalog_table catalog{journal};
  counters marks{journal};
  staging stage{journal};
  settings_tables settings{journal};
  acl_table acls{journal};
  claim_tables claims{journal};
  outcome_table outcomes{journal};
  /// Not replicated: nothing that is applied looks at it, and it is in no digest and no checkpoint. Null: nothing is known.
  coordinates::table_ptr places = nullptr;
  /// Not replicated, either.
  change_window changes;
  history_scope history;

  tables() = default;
  tables(const tables&) = delete;
  tables& operator=(const tables&) = delete;

  /// Puts a row back as it was, or takes it away: loading and undoing.
  void restore(dirty_row row);
  /// Takes back everything since journal.start_recording().
  void undo();
  std::vector<dirty_row> all_rows() const;
  /// Tears down what is left of removed keys first.
  dirty_rows take_dirty();
  std::uint64_t recompute_digest() const;
  /// Each has maps(), its tables, and beside(), what it keeps beside their rows (maps/kept_beside.hpp).
  auto owners() const {
    return std::tie(kv, graves, sessions, delays, catalog, marks, stage, acls, claims.claims, claims.resources,
                    claims.ghosts, claims.ends, claims.guards, claims.ended, outcomes, settings);
  }
  /// Calls `f(table)` for each table; it has append_rows(), recompute_digest() and recount().
  template <class F>
  void for_each_table(F&& f) const {
    const auto each_of = [&](const auto& owner) {
      std::apply([&](const auto&... map) { (f(map), ...); }, owner.maps());
    };
    std::apply([&](const auto&... owner) { (each_of(owner), ...); }, owners());
  }

  /// Index of reads that depend on every key (docs/contract/02, section 2): never goes back.
  log_index newest_key_change() const { return std::max(marks.at(mark::kvs), marks.at(mark::tombstones)); }
};

/// One entry of the log being applied.
struct applying {
  tables& t;
  log_index index;
  cluster_time now;
  effects& changed;
  /// Folded names of nodes all services of which were touched by this entry, and those that came since, too: once is enough.
  std::set<std::string, std::less<>> touched_nodes = {};
  /// Resources in which somebody who waits may fit now: looked at once, at the end of the entry, in this order (docs/claims.md, rule 12).
  std::set<resource_name> touched = {};
  /// How much of what is due this entry may still end (docs/claims.md, rule 14).
  std::uint64_t due_left = expired_at_once_max;
  /// Of the token in whose name the command is given; null: nobody's, or ACLs are not in force.
  const std::string* secret = nullptr;
  /// Whose command it is, by which ends of claims are counted: the token's accessor, else the client's address. nullopt: the entry
  /// does not name its client, and is decided as 0.2.0 did.
  std::optional<std::string> scope = std::nullopt;
  /// In whose name: kept with what takes effect later. Empty as requester says.
  requester by = {};
  /// The answer will be kept (docs/exactly-once.md): a transaction whose answer is too large for that is not carried out.
  bool keeps_answer = false;

  /// A command of claims_level was applied, this one or one before: until then nothing differs from what servers without claims do.
  bool claims_in_use() const { return !t.marks.at(mark::claims).is_zero(); }
  /// Of the next grant (docs/claims.md, rule 10).
  std::uint64_t new_fence();
  /// Somebody waits for the lock of the key.
  bool lock_is_awaited(const std::string& key) const;
  /// The lock of the key may be free now: who waits for it is looked at.
  void look_at_lock(const std::string& key);
  /// The same of all keys that begin with the prefix.
  void look_at_locks_under(std::string_view prefix);
};

} // namespace belay::state
