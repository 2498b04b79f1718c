#pragma once
// What can be written. One command is one log entry; ids, times and random numbers in it were fixed before it was proposed.

#include "protocol/base/bytes.hpp"
#include "protocol/base/ids.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace belay::state {

// ---- records (rows of the tables; immutable once stored, shared by pointer)

struct kv_entry {
  std::string key;
  payload value; ///< never null; empty text = Consul's null
  std::uint64_t flags = 0;
  std::uint64_t lock_index = 0;
  std::string session; ///< holder; empty: not locked
  log_index create_index;
  log_index modify_index;
  /// Of the holder's grant; zero: not locked. Larger than that of every grant before, of this key or any other.
  /// It is the log index of the entry that granted the lock, plus mark::fence_base. Log indexes only rise, through
  /// deletes, failovers and restarts; the base is raised when an archive with larger fences is restored. LockIndex could
  /// not serve: plain puts and deletes reset it. ModifyIndex neither: a put moves it while the holder stays.
  std::uint64_t fence = 0;
};
using kv_entry_ptr = std::shared_ptr<const kv_entry>;

enum class session_behavior : std::uint8_t { release = 0, remove = 1 };

struct session_record {
  std::string id; ///< lower-case UUID
  std::string name;
  std::string node;
  std::int64_t lock_delay_ns = 0; ///< as asked for; clamped to 60 s when it starts
  session_behavior behavior = session_behavior::release;
  std::string ttl;                                ///< as the client wrote it
  std::int64_t ttl_ns = 0;                        ///< 0: none
  std::optional<std::vector<std::string>> checks; ///< deprecated member, shown only when given
  std::optional<std::vector<std::string>> node_checks;
  std::optional<std::vector<std::string>> service_checks;
  log_index create_index;
  log_index modify_index;
};
using session_ptr = std::shared_ptr<const session_record>;

using string_map = std::map<std::string, std::string>;

struct node_record {
  std::string id, node, address, datacenter;
  std::optional<string_map> tagged_addresses, meta;
  log_index create_index, modify_index;
};

struct service_address {
  std::string address;
  std::int64_t port = 0;
};

struct service_record {
  std::string node; ///< owning node's name
  std::string kind, id, service, address;
  std::optional<std::vector<std::string>> tags;
  std::optional<std::map<std::string, service_address>> tagged_addresses;
  std::optional<string_map> meta;
  std::int64_t port = 0;
  std::int64_t weight_passing = 1, weight_warning = 1;
  bool enable_tag_override = false;
  std::string proxy_json, connect_json; ///< kept and echoed as given; empty: none
  log_index create_index, modify_index;
};

struct check_record {
  std::string node, check_id, name, status, notes, output, service_id, service_name, type;
  std::optional<std::vector<std::string>> service_tags;
  std::string definition_json = "{}"; ///< normalised when it was registered
  log_index create_index, modify_index;
};

// ---- key operations, alone or in a transaction

enum class kv_verb : std::uint8_t {
  set = 0,
  cas = 1,
  lock = 2,
  unlock = 3,
  get = 4,
  get_tree = 5,
  check_index = 6,
  check_session = 7,
  check_not_exists = 8,
  remove = 9,
  remove_tree = 10,
  remove_cas = 11,
};

struct kv_op {
  kv_verb verb = kv_verb::set;
  std::string key;
  payload value; ///< set, cas, lock, unlock
  std::uint64_t flags = 0;
  log_index index;     ///< cas, remove_cas, check_index
  std::string session; ///< lock, unlock, check_session
};

enum class catalog_verb : std::uint8_t { get = 0, set = 1, cas = 2, remove = 3, remove_cas = 4 };

struct node_op {
  catalog_verb verb = catalog_verb::set;
  node_record node; ///< modify_index is the index compared
};
struct service_op {
  catalog_verb verb = catalog_verb::set;
  service_record service;
};
struct check_op {
  catalog_verb verb = catalog_verb::set;
  check_record check;
};
using txn_op = std::variant<kv_op, node_op, service_op, check_op>;

// ---- commands

/// PUT or DELETE of one key (or tree). Answers bool; an acquire may be refused with a text.
struct kv_write {
  kv_op op;
};
/// All or nothing at one index.
struct txn {
  std::vector<txn_op> ops;
};
struct session_create {
  session_record session;
};
/// Ends these sessions with all that hangs on them. Unknown ids are skipped.
struct session_destroy {
  std::vector<std::string> ids;
  std::string cause; ///< for the log: "destroyed", "ttl", ...
};
struct catalog_register {
  node_record node;
  bool skip_node_update = false;
  std::optional<service_record> service;
  std::vector<check_record> checks;
};
struct catalog_deregister {
  std::string node, service_id, check_id;
};
/// Forgets tombstones at and below the index (contract 02 section 3).
struct tombstone_reap {
  log_index up_to;
};

/// What operators want of the set of servers (contract 12). Until it is set it has these values, and the first entry of
/// the log is the one that made it.
struct autopilot_settings {
  bool cleanup_dead_servers = true;
  std::int64_t last_contact_threshold_ns = 200'000'000;
  std::uint64_t max_trailing_logs = 250;
  std::uint64_t min_quorum = 0;
  std::int64_t server_stabilization_ns = 10'000'000'000;
  std::string redundancy_zone_tag;
  bool disable_upgrade_migration = false;
  std::string upgrade_version_tag;
  log_index create_index{1}, modify_index{1};
};
using autopilot_ptr = std::shared_ptr<const autopilot_settings>;

/// Replaces the whole record. Answers a bool.
struct autopilot_set {
  autopilot_settings wanted;      ///< its indexes do not matter
  std::optional<log_index> check; ///< only if that is its ModifyIndex
};

struct dirty_row; ///< machine.hpp
using row_batch = std::shared_ptr<const std::vector<dirty_row>>;

/// A restore replaces all tables at once. Its rows are gathered first, some in each entry, so that no entry is large:
/// begin, rows 0, rows 1, ..., commit. `id` is new for every restore. Each may be proposed again if its outcome is
/// unknown. They answer true, or refuse with a text if another restore was begun or this one was idle for too long.
struct restore_begin {
  std::string id;
  log_index archive_index; ///< up to which the archive's state had been applied
};
struct restore_rows {
  std::string id;
  std::uint64_t number = 0;
  row_batch rows; ///< never null
};
struct restore_commit {
  std::string id;
  std::uint64_t batches = 0; ///< how many there were
};
struct restore_abort {
  std::string id;
};

using command = std::variant<kv_write, txn, session_create, session_destroy, catalog_register, catalog_deregister,
                             tombstone_reap, restore_begin, restore_rows, restore_commit, restore_abort, autopilot_set>;

// ---- answers

struct txn_error {
  std::size_t op_index = 0;
  std::string what;
};
/// One element of a transaction's Results. `with_value`: kv entries read by get and get-tree show their value.
struct txn_result {
  std::variant<kv_entry_ptr, std::shared_ptr<const node_record>, std::shared_ptr<const service_record>,
               std::shared_ptr<const check_record>>
      row;
  bool with_value = false;
};
struct txn_reply {
  std::vector<txn_result> results;
  std::vector<txn_error> errors; ///< not empty: nothing was applied
};
/// Refused by the state machine; the text goes to the client with status 500.
struct refusal {
  std::string text;
};
/// Why a key was not written although nothing was wrong with the request.
enum class refused_for : std::uint8_t {
  nothing = 0,
  held = 1,       ///< another session has the lock
  lock_delay = 2, ///< nobody may have it yet
  index = 3,      ///< the row is not the one that was meant
};
/// What a boolean answer cannot say.
struct lock_note {
  refused_for why = refused_for::nothing;
  std::string holder;               ///< session; held
  std::uint64_t retry_after_ms = 0; ///< lock_delay: rounded up, counted from the answer
  std::uint64_t fence = 0;          ///< of a granted acquire
  bool operator==(const lock_note&) const = default;
};

using plain_reply = std::variant<std::monostate, bool, std::string /* session id */, txn_reply, refusal>;
/// `note` comes only with a bool.
struct reply : plain_reply {
  using plain_reply::plain_reply;
  lock_note note;
};

// ---- what changed, for watches and timers

struct kv_changed {
  std::string key;
};
struct kv_tree_removed {
  std::string prefix; ///< some keys below it were removed by one recursive delete
};
struct session_changed {
  session_ptr session;
  bool created = false; ///< false: ended
};
/// A catalog change touches a node by name, a service by name (either may be empty).
struct catalog_changed {
  std::string node, service;
};
/// `key` cannot be acquired before that cluster time.
struct lock_delay_started {
  std::string key;
  cluster_time until;
};
/// The tables were replaced (restore, snapshot installed): wake everybody.
struct everything_changed {
  bool indexes_may_fall = false; ///< after a restore: wake even those whose index has not come
};

using effect =
    std::variant<kv_changed, kv_tree_removed, session_changed, catalog_changed, lock_delay_started, everything_changed>;
using effects = std::vector<effect>;

} // namespace belay::state
