#pragma once
// Commands about claims and write guards (docs/reference/claims.md). Each needs feature level claims_level.
// Each may be rejected with a claim_refusal (claim_answers.hpp); its other reply is listed with it.

#include "protocol/state/claims/claim_records.hpp"
#include "protocol/state/kv_op.hpp"

#include <optional>

namespace belay::state {

/// `PUT /v1/claim/NAME`. Replies with a claim_answer: held or waiting. Needs key write on the name.
struct claim_ask {
  static constexpr command_tag tag = command_tag::claim_ask;

  std::string name;
  std::string session;                  ///< in any case
  std::string id;                       ///< empty: the session's id
  std::optional<claim_kind> kind;       ///< nullopt: that of the resource, else lock
  std::optional<claim_mode> mode;       ///< rw only; nullopt: exclusive
  std::optional<std::uint64_t> permits; ///< semaphores only; nullopt: 1
  std::optional<std::uint64_t> limit;   ///< semaphores only; required if the resource has none
  std::uint64_t priority = 0;           ///< 0 to 255
  payload value;                        ///< null: empty
  std::uint64_t deadline_ms = 0;        ///< max wait, counted from the entry; 0: unlimited
  bool refuse_deadlock = false;         ///< `deadlock=refuse`
};
template <>
inline constexpr auto fields_of<claim_ask> = std::tuple{
    field<&claim_ask::name>{},
    field<&claim_ask::session>{},
    field<&claim_ask::id>{},
    field<&claim_ask::kind>{},
    field<&claim_ask::mode>{},
    field<&claim_ask::permits>{},
    field<&claim_ask::limit>{},
    field<&claim_ask::priority>{},
    field<&claim_ask::value>{},
    field<&claim_ask::deadline_ms>{},
    field<&claim_ask::refuse_deadlock>{},
};

/// `DELETE /v1/claim/NAME?id=`. Replies true, even if there is no such claim:
/// then its id is remembered, so that a delayed PUT is rejected (rule 7).
struct claim_release {
  static constexpr command_tag tag = command_tag::claim_release;

  std::string name, id;
};
template <>
inline constexpr auto fields_of<claim_release> = std::tuple{
    field<&claim_release::name>{},
    field<&claim_release::id>{},
};

/// `PUT /v1/claim/NAME/transfer`. Replies with the claim_answer of the new holder.
struct claim_transfer {
  static constexpr command_tag tag = command_tag::claim_transfer;

  std::string name, id;
  std::string to; ///< id of a waiter; empty: the head of the queue
};
template <>
inline constexpr auto fields_of<claim_transfer> = std::tuple{
    field<&claim_transfer::name>{},
    field<&claim_transfer::id>{},
    field<&claim_transfer::to>{},
};

/// `PUT /v1/claim/NAME/mode`. Replies with a claim_answer.
struct claim_mode_set {
  static constexpr command_tag tag = command_tag::claim_mode_set;

  std::string name, id;
  claim_mode mode = claim_mode::shared;
};
template <>
inline constexpr auto fields_of<claim_mode_set> = std::tuple{
    field<&claim_mode_set::name>{},
    field<&claim_mode_set::id>{},
    field<&claim_mode_set::mode>{},
};

/// `PUT /v1/claim/NAME/limit`: fixes it. Creates a semaphore if nothing exists. Replies true.
struct claim_limit_set {
  static constexpr command_tag tag = command_tag::claim_limit_set;

  std::string name;
  std::uint64_t limit = 0;
};
template <>
inline constexpr auto fields_of<claim_limit_set> = std::tuple{
    field<&claim_limit_set::name>{},
    field<&claim_limit_set::limit>{},
};

/// `DELETE /v1/claim/NAME/limit`: keeps the number, but no longer fixed. Always replies true.
struct claim_limit_unset {
  static constexpr command_tag tag = command_tag::claim_limit_unset;

  std::string name;
};
template <>
inline constexpr auto fields_of<claim_limit_unset> = std::tuple{field<&claim_limit_unset::name>{}};

/// `PUT /v1/guard/PREFIX`. Replies true, even if the same write guard exists.
struct guard_set {
  static constexpr command_tag tag = command_tag::guard_set;

  std::string prefix;
  resource_name by;
};
template <>
inline constexpr auto fields_of<guard_set> = std::tuple{
    field<&guard_set::prefix>{},
    field<&guard_set::by>{},
};

/// `DELETE /v1/guard/PREFIX`. Replies true, even if there is none.
struct guard_remove {
  static constexpr command_tag tag = command_tag::guard_remove;

  std::string prefix;
  std::uint64_t fence = 0; ///< fencing token of the guarding resource; 0: none, which needs `operator` write
};
template <>
inline constexpr auto fields_of<guard_remove> = std::tuple{
    field<&guard_remove::prefix>{},
    field<&guard_remove::fence>{},
};

/// An entry that matters only by its time: it processes what is due at `at` (rule 13). Proposed
/// by the leader, by machine::next_alarm(). May be repeated, late or lost. Replies true.
struct claims_alarm {
  static constexpr command_tag tag = command_tag::claims_alarm;

  cluster_time at; ///< for readers of the log: the entry's time decides
};
template <>
inline constexpr auto fields_of<claims_alarm> = std::tuple{field<&claims_alarm::at>{}};

/// `PUT /v1/kv/KEY?acquire=SESSION&queue=`: acquires the lock or queues for it (rules 23 to
/// 29). Replies with a bool and a note, as without `wait`, or with a claim_answer `waiting`.
struct kv_acquire {
  static constexpr command_tag tag = command_tag::kv_acquire;

  kv_op op;                       ///< kv_verb::lock
  std::uint64_t wait_ms = 0;      ///< its deadline, counted from the entry; 0: does not wait
  bool refuse_deadlock = false;   ///< `deadlock=refuse`
  std::optional<fence_ref> fence; ///< if a write guard covers the key
};
template <>
inline constexpr auto fields_of<kv_acquire> = std::tuple{
    field<&kv_acquire::op>{},
    field<&kv_acquire::wait_ms>{},
    field<&kv_acquire::refuse_deadlock>{},
    field<&kv_acquire::fence>{},
};

/// A request in the queue for the lock of a key.
struct wait_ref {
  std::string key;
  std::string session;    ///< in any case
  log_index requested_at; ///< entry of its last request; a wait that was requested again is a different one

  bool operator==(const wait_ref&) const = default;
};
template <>
inline constexpr auto fields_of<wait_ref> = std::tuple{
    field<&wait_ref::key>{},
    field<&wait_ref::session>{},
    field<&wait_ref::requested_at>{},
};

/// Withdraws waits of disconnected clients (rule 24). Proposed by servers; needs disconnect_level.
/// Skips granted, ended and re-requested waits, so the command may be repeated, late or lost.
/// Replies true.
struct waits_withdraw {
  static constexpr command_tag tag = command_tag::waits_withdraw;

  std::vector<wait_ref> waits; ///< at most withdrawn_at_once_max
};
template <>
inline constexpr auto fields_of<waits_withdraw> = std::tuple{field<&waits_withdraw::waits>{}};

/// A write of one key with a fencing token (`?fence=F&claim=NAME` or `&lock=KEY`):
/// runs only while the token is valid, guarded key or not. Replies as the write does.
struct fenced_write {
  static constexpr command_tag tag = command_tag::fenced_write;

  kv_op op;
  fence_ref fence;
};
template <>
inline constexpr auto fields_of<fenced_write> = std::tuple{
    field<&fenced_write::op>{},
    field<&fenced_write::fence>{},
};

} // namespace belay::state
