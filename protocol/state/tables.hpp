#pragma once
// All tables of the state machine, and the context in which one log entry is applied to them.

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

/// Must not move in memory: every table has a reference to the journal.
struct tables {
  undo_log log;
  kv_table kv{log};
  tombstones graves{log};
  session_table sessions{log};
  lock_delay delays{log};
  catalog_table catalog{log};
  counters indexes{log};
  staging stage{log};
  settings_tables settings{log};
  acl_table acls{log};
  claim_tables claims{log};
  outcome_table outcomes{log};
  /// Not replicated: apply() does not read it; not in digest or checkpoint. Null: none.
  coordinates::table_ptr node_coordinates = nullptr;
  /// Not replicated, either.
  change_window changes;
  history_scope history;

  tables() = default;
  tables(const tables&) = delete;
  tables& operator=(const tables&) = delete;

  /// Sets or removes a row: for loading and for undo.
  void restore(dirty_row row);
  /// Undoes everything since journal.start_recording().
  void undo();
  std::vector<dirty_row> all_rows() const;
  /// Finishes the cleanup of removed keys first.
  dirty_rows take_dirty();
  std::uint64_t recompute_digest() const;
  /// Each has maps(), its tables, and beside(), data derived from rows (maps/kept_beside.hpp).
  auto owners() const {
    return std::tie(kv, graves, sessions, delays, catalog, indexes, stage, acls, claims.claims, claims.resources,
                    claims.ghosts, claims.ends, claims.guards, claims.ended, outcomes, settings);
  }
  /// Calls `f(table)` for each table; a table has append_rows(), recompute_digest() and recount().
  template <class F>
  void for_each_table(F&& f) const {
    const auto each_of = [&](const auto& owner) {
      std::apply([&](const auto&... map) { (f(map), ...); }, owner.maps());
    };
    std::apply([&](const auto&... owner) { (each_of(owner), ...); }, owners());
  }

  /// Index of reads that depend on every key (docs/contract/02, section 2). Never decreases.
  log_index newest_key_change() const {
    return std::max(indexes.at(index_kind::kvs), indexes.at(index_kind::tombstones));
  }
};

/// The context of one log entry while it is applied.
struct applying {
  tables& t;
  log_index index;
  cluster_time now;
  effects& changed;
  /// Folded names of nodes all of whose services, even those added later, count as touched by this
  /// entry.
  std::set<std::string, std::less<>> touched_nodes = {};
  /// Resources where a waiter may fit: checked in order at the end (docs/reference/claims.md, rule 12).
  std::set<resource_name> touched = {};
  /// How many more due items this entry may expire (docs/reference/claims.md, rule 14).
  std::uint64_t due_left = expired_at_once_max;
  /// Secret of the token that the command is on behalf of; null: none, or ACLs are off.
  const std::string* secret = nullptr;
  /// Scope in which ends of claims are counted: the token's accessor, else the client's address.
  /// nullopt: the entry does not name its client. It is decided as in 0.2.0.
  std::optional<std::string> scope = std::nullopt;
  /// The requester, stored with what takes effect later. It may be empty: see requester::accessor.
  requester by = {};
  /// The reply will be kept (docs/reference/exactly-once.md): a transaction whose reply is too large fails.
  bool keeps_answer = false;

  /// Whether a command of claims_level was applied. Before, act as servers without claims do.
  bool claims_in_use() const { return !t.indexes.at(index_kind::claims).is_zero(); }
  /// Fencing token of the next grant (docs/reference/claims.md, rule 10).
  std::uint64_t new_fence();
  /// Whether a client waits for the lock of the key.
  bool lock_is_awaited(const std::string& key) const;
  /// The lock of the key may have become free: its waiters are checked at the end of the entry.
  void look_at_lock(const std::string& key);
  /// The same for all keys that begin with the prefix.
  void look_at_locks_under(std::string_view prefix);
};

} // namespace belay::state
