#pragma once
// The writes. A command is one log entry; its ids, times and random numbers are fixed beforehand.

#include "protocol/base/compiled_once.hpp"
#include "protocol/state/acl/acl_commands.hpp"
#include "protocol/state/claims/claim_answers.hpp"
#include "protocol/state/claims/claim_commands.hpp"
#include "protocol/state/outcomes/outcome_commands.hpp"
#include "protocol/state/rows.hpp"

namespace belay::state {

// ---- operations of a transaction; those on keys: kv_op.hpp

enum class catalog_verb : std::uint8_t { get = 0, set = 1, cas = 2, remove = 3, remove_cas = 4 };
template <>
inline constexpr auto names_of<catalog_verb> = std::to_array<std::string_view>({"get", "set", "cas", "delete",
                                                                                "delete-cas"});
static_assert(count_of<catalog_verb> == static_cast<std::size_t>(catalog_verb::remove_cas) + 1);

struct node_op {
  catalog_verb verb = catalog_verb::set;
  node_record node; ///< modify_index is the index to compare with
};
struct service_op {
  catalog_verb verb = catalog_verb::set;
  service_record service;
};
struct check_op {
  catalog_verb verb = catalog_verb::set;
  check_record check;
};
template <>
inline constexpr auto fields_of<node_op> = std::tuple{field<&node_op::verb>{}, field<&node_op::node>{}};
template <>
inline constexpr auto fields_of<service_op> = std::tuple{field<&service_op::verb>{}, field<&service_op::service>{}};
template <>
inline constexpr auto fields_of<check_op> = std::tuple{field<&check_op::verb>{}, field<&check_op::check>{}};

/// `check-fence`: the transaction fails unless the fencing token is valid; write guards that need
/// it admit the operations after this one. Only in fenced_txn and in read-only transactions.
struct fence_op {
  fence_ref fence;
};
template <>
inline constexpr auto fields_of<fence_op> = std::tuple{field<&fence_op::fence>{}};

/// The position of each kind is its number in bytes: append new ones.
using txn_op = std::variant<kv_op, node_op, service_op, check_op, fence_op>;

// ---- commands

/// PUT or DELETE of one key (or tree). Replies with a bool; an acquire may be rejected with a text.
struct kv_write {
  static constexpr command_tag tag = command_tag::kv_write;

  kv_op op;
};
template <>
inline constexpr auto fields_of<kv_write> = std::tuple{field<&kv_write::op>{}};

/// All operations or none, at one index.
struct txn {
  static constexpr command_tag tag = command_tag::txn;

  std::vector<txn_op> ops;
};
template <>
inline constexpr auto fields_of<txn> = std::tuple{field<&txn::ops>{}};

/// A transaction with a fence_op. Without one it is a txn, which servers without claims understand.
struct fenced_txn {
  static constexpr command_tag tag = command_tag::fenced_txn;

  txn body;
};
template <>
inline constexpr auto fields_of<fenced_txn> = std::tuple{field<&fenced_txn::body>{}};

struct session_create {
  static constexpr command_tag tag = command_tag::session_create;

  session_record session;
};
template <>
inline constexpr auto fields_of<session_create> = std::tuple{field<&session_create::session>{}};

/// A session with an exact TTL, with OnEnd, or both. Replies as session_create does.
/// Without either it is a session_create, which servers without claims understand.
struct session_begin {
  static constexpr command_tag tag = command_tag::session_begin;

  session_record session; ///< its ttl_mode and on_end are encoded separately, below
  session_ttl_mode ttl_mode = session_ttl_mode::lower_bound;
  std::vector<kv_op> on_end;
};
template <>
inline constexpr auto fields_of<session_begin> = std::tuple{
    field<&session_begin::session>{},
    field<&session_begin::ttl_mode>{},
    field<&session_begin::on_end>{},
};

/// Ends these sessions and releases what they hold. Skips unknown ids.
struct session_destroy {
  static constexpr command_tag tag = command_tag::session_destroy;

  std::vector<std::string> ids;
  std::string cause; ///< for the log: "destroyed", "ttl", ...
};
template <>
inline constexpr auto fields_of<session_destroy> = std::tuple{
    field<&session_destroy::ids>{},
    field<&session_destroy::cause>{},
};

/// Ends these sessions, cause `ttl`: they expired by the leader's timers. Ends none if a restore
/// was applied since the leader decided: a restore restarts all session timeouts. Skips unknown
/// ids. Only the leader proposes it, or session_destroy where a server does not know it.
struct session_expire {
  static constexpr command_tag tag = command_tag::session_expire;

  std::vector<std::string> ids;
  log_index restored_at; ///< entry of the newest restore that the leader had applied; zero: none
};
template <>
inline constexpr auto fields_of<session_expire> = std::tuple{
    field<&session_expire::ids>{},
    field<&session_expire::restored_at>{},
};

/// Node, service and checks, all or none.
struct catalog_register {
  static constexpr command_tag tag = command_tag::catalog_register;

  node_record node;
  bool skip_node_update = false; ///< leave an existing node of that name as it is
  std::optional<service_record> service;
  std::vector<check_record> checks;
};
template <>
inline constexpr auto fields_of<catalog_register> = std::tuple{
    field<&catalog_register::node>{},
    field<&catalog_register::skip_node_update>{},
    field<&catalog_register::service>{},
    field<&catalog_register::checks>{},
};

/// Removes the service, else the check, whichever is not empty; else the whole node.
struct catalog_deregister {
  static constexpr command_tag tag = command_tag::catalog_deregister;

  std::string node, service_id, check_id;
};
template <>
inline constexpr auto fields_of<catalog_deregister> = std::tuple{
    field<&catalog_deregister::node, "Node">{},
    field<&catalog_deregister::service_id, "ServiceID">{},
    field<&catalog_deregister::check_id, "CheckID">{},
};

/// Removes tombstones at and below the index (docs/contract/02, section 3).
struct tombstone_reap {
  static constexpr command_tag tag = command_tag::tombstone_reap;

  log_index up_to;
};
template <>
inline constexpr auto fields_of<tombstone_reap> = std::tuple{field<&tombstone_reap::up_to>{}};

/// A restore replaces all tables at once. Its rows are staged first, some per entry, to keep
/// entries small: begin, rows 0, rows 1, ..., commit. `id` is unique. Each may be proposed again if
/// its outcome is unknown. Replies true, or a refusal: another began, or this was idle too long.
struct restore_begin {
  static constexpr command_tag tag = command_tag::restore_begin;

  std::string id;
  log_index archive_index; ///< the archive's state includes entries up to this one
};
struct restore_rows {
  static constexpr command_tag tag = command_tag::restore_rows;

  std::string id;
  std::uint64_t number = 0;
  row_batch rows; ///< never null
};
struct restore_commit {
  static constexpr command_tag tag = command_tag::restore_commit;

  std::string id;
  std::uint64_t batches = 0; ///< number of batches sent
};
struct restore_abort {
  static constexpr command_tag tag = command_tag::restore_abort;

  std::string id;
};
template <>
inline constexpr auto fields_of<restore_begin> = std::tuple{
    field<&restore_begin::id>{},
    field<&restore_begin::archive_index>{},
};
template <>
inline constexpr auto fields_of<restore_rows> = std::tuple{
    field<&restore_rows::id>{},
    field<&restore_rows::number>{},
    field<&restore_rows::rows>{},
};
template <>
inline constexpr auto fields_of<restore_commit> = std::tuple{
    field<&restore_commit::id>{},
    field<&restore_commit::batches>{},
};
template <>
inline constexpr auto fields_of<restore_abort> = std::tuple{field<&restore_abort::id>{}};

using plain_command = compiled_once<with_settings<
    std::variant<kv_write, txn, session_create, session_destroy, catalog_register, catalog_deregister, tombstone_reap,
                 restore_begin, restore_rows, restore_commit, restore_abort, acl_initialize, acl_bootstrap,
                 acl_policy_set, acl_policy_delete, acl_role_set, acl_role_delete, acl_token_set, acl_token_clone,
                 acl_token_delete, claim_ask, claim_release, claim_transfer, claim_mode_set, claim_limit_set,
                 claim_limit_unset, guard_set, guard_remove, claims_alarm, kv_acquire, fenced_write, fenced_txn,
                 session_begin, outcome_seal, session_expire, waits_withdraw>,
    settings_set>>;

/// A write and the token it is made on behalf of. Permission is decided when it
/// is applied, so no change of a policy comes between the decision and the write.
struct command : plain_command {
  using plain_command::plain_command;
  /// nullopt: the server itself, which may write everything. Without ACLs everything is permitted.
  std::optional<auth_context> by;
  /// Only with `by`: a server with the log up to here permitted it (machine::refuses). Zero: none.
  log_index authorized_at;
  /// It takes effect once, however often it is applied (docs/reference/exactly-once.md). nullopt: each time.
  std::optional<once_request> once;
  /// Address of the client that sent it; only for commands with has_client(). nullopt: some server
  /// is too old (client_address_level), or no client sent it; apply() decides as 0.2.0 did.
  std::optional<std::string> client_address;
  /// `acl.enable_key_list_policy`, as in query::lists_need_permission. Only for machine::refuses.
  bool lists_need_permission = false;
};

// ---- replies

struct txn_error {
  std::size_t op_index = 0;
  std::string what;
};
template <>
inline constexpr auto fields_of<txn_error> = std::tuple{
    field<&txn_error::op_index, "OpIndex">{},
    field<&txn_error::what, "What">{},
};

/// An element of a transaction's Results. `with_value`: a kv entry of get or get-tree, with value.
struct txn_result {
  std::variant<kv_entry_ptr, node_ptr, service_ptr, check_ptr> row; ///< the position is the number in bytes
  bool with_value = false;
};
struct txn_reply {
  std::vector<txn_result> results;
  std::vector<txn_error> errors; ///< if not empty, nothing was applied
};
/// Rejected by the state machine; the client receives the text with status 500.
struct refusal {
  std::string text;
};
template <>
inline constexpr auto fields_of<refusal> = std::tuple{field<&refusal::text>{}};
/// Consul's text: the node of a session, service or check is not in the catalog.
inline constexpr std::string_view missing_node_registration = "Missing node registration";

/// Why a valid request did not write the key.
enum class refused_for : std::uint8_t {
  nothing = 0,
  held = 1,       ///< another session holds the lock
  lock_delay = 2, ///< the key is in a lock delay
  index = 3,      ///< the row's index differs from the one given
  queued = 4,     ///< the lock is free, or about to be, and has waiters
  value = 5,      ///< add: the row's value is not a decimal 64-bit integer
  bounds = 6,     ///< add: the sum would be below `min`, above `max`, or overflow 64 bits
};
template <>
inline constexpr auto names_of<refused_for> = std::to_array<std::string_view>({"", "held", "lock-delay", "index",
                                                                               "queued", "value", "bounds"});
static_assert(count_of<refused_for> == static_cast<std::size_t>(refused_for::bounds) + 1);

/// Reply to a single `add`, outside a transaction.
struct kv_added {
  std::int64_t value = 0; ///< the new value
};
template <>
inline constexpr auto fields_of<kv_added> = std::tuple{field<&kv_added::value, "Value">{}};

/// Details of a boolean reply.
struct lock_note {
  refused_for why = refused_for::nothing;
  std::string holder;               ///< session; held
  std::uint64_t retry_after_ms = 0; ///< lock_delay: rounded up, counted from the reply
  std::uint64_t fence = 0;          ///< fencing token of a granted acquire
  bool operator==(const lock_note&) const = default;
};
template <>
inline constexpr auto fields_of<lock_note> = std::tuple{
    field<&lock_note::why>{},
    field<&lock_note::holder>{},
    field<&lock_note::retry_after_ms>{},
    field<&lock_note::fence>{},
};

/// Encoded by position, but a bool with a note is 5, acl_row 6, and so on. Append new ones.
using plain_reply = std::variant<std::monostate, bool, std::string /* session id */, txn_reply, refusal, acl_row,
                                 claim_answer, claim_refusal, kv_added, once_refusal>;
/// `note` only with a bool. A seal replies void or the write's reply, with `decided_at`.
struct reply : plain_reply {
  using plain_reply::plain_reply;
  lock_note note;
  log_index decided_at; ///< the earlier entry that decided it; zero: this entry did
};

// ---- changes, for watches and timers

struct kv_changed {
  std::string key;
};
struct kv_tree_removed {
  std::string prefix; ///< one recursive delete removed some keys under it
};
struct session_changed {
  session_ptr session;
  bool created = false; ///< false: it ended
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
/// The tables were replaced (restore, snapshot installed): wake all queries.
struct everything_changed {
  bool indexes_may_fall = false; ///< after a restore: also wake queries whose index is not reached
  log_index restored_at = {};    ///< machine::restored_at() of the new tables
};

/// Policies, roles or tokens changed: parked queries with a token are authorized again.
struct access_changed {};

/// Not caused by an entry: this server has new coordinates (protocol/coordinates).
struct coordinates_changed {};

using effect =
    compiled_once<std::variant<kv_changed, kv_tree_removed, session_changed, catalog_changed, lock_delay_started,
                               everything_changed, access_changed, coordinates_changed, claim_changed, claim_granted,
                               claim_ended, claims_alarm_moved, guards_changed>>;
using effects = std::vector<effect>;

} // namespace belay::state
