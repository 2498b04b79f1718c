#pragma once
// What can be asked of claims and guards (docs/claims.md). Each needs feature level claims_level. All answer a claim_refusal if they are
// refused (claim_answers.hpp); what else they answer stands at each.

#include "protocol/state/claims/claim_records.hpp"
#include "protocol/state/kv_op.hpp"

#include <optional>

namespace belay::state {

/// `PUT /v1/claim/NAME`. Answers a claim_answer: held or waiting. Needs key write on the name.
struct claim_ask {
  static constexpr command_tag tag = command_tag::claim_ask;

  std::string name;
  std::string session;                  ///< in any case
  std::string id;                       ///< empty: that of the session
  std::optional<claim_kind> kind;       ///< nullopt: the one that the resource has, else lock
  std::optional<claim_mode> mode;       ///< of rw only; nullopt: exclusive
  std::optional<std::uint64_t> permits; ///< of semaphores only; nullopt: 1
  std::optional<std::uint64_t> limit;   ///< of semaphores only; needed if the resource has none
  std::uint64_t priority = 0;           ///< 0 to 255
  payload value;                        ///< null: empty
  std::uint64_t deadline_ms = 0;        ///< how long it waits at most, from the entry on; 0: for ever
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

/// `DELETE /v1/claim/NAME?id=`. Answers true, also if there is no such claim: then its id is remembered, so that an ask that comes late is
/// refused (rule 7).
struct claim_release {
  static constexpr command_tag tag = command_tag::claim_release;

  std::string name, id;
};
template <>
inline constexpr auto fields_of<claim_release> = std::tuple{
    field<&claim_release::name>{},
    field<&claim_release::id>{},
};

/// `PUT /v1/claim/NAME/hand-over`. Answers a claim_answer: that of the new holder.
struct claim_hand_over {
  static constexpr command_tag tag = command_tag::claim_hand_over;

  std::string name, id;
  std::string to; ///< id of a waiter; empty: the head of the queue
};
template <>
inline constexpr auto fields_of<claim_hand_over> = std::tuple{
    field<&claim_hand_over::name>{},
    field<&claim_hand_over::id>{},
    field<&claim_hand_over::to>{},
};

/// `PUT /v1/claim/NAME/mode`. Answers a claim_answer.
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

/// `PUT /v1/claim/NAME/limit`: pins it. Makes a semaphore if there is nothing of that name. Answers true.
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

/// `DELETE /v1/claim/NAME/limit`: the limit stays what it is, but is pinned no more. Answers true, also if it was not.
struct claim_limit_unset {
  static constexpr command_tag tag = command_tag::claim_limit_unset;

  std::string name;
};
template <>
inline constexpr auto fields_of<claim_limit_unset> = std::tuple{field<&claim_limit_unset::name>{}};

/// `PUT /v1/guard/PREFIX`. Answers true; also if the very same guard is there.
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

/// `DELETE /v1/guard/PREFIX`. Answers true; also if there is none.
struct guard_remove {
  static constexpr command_tag tag = command_tag::guard_remove;

  std::string prefix;
  std::uint64_t fence = 0; ///< of the guarding resource; 0: none, which only who has `operator` write may say
};
template <>
inline constexpr auto fields_of<guard_remove> = std::tuple{
    field<&guard_remove::prefix>{},
    field<&guard_remove::fence>{},
};

/// An entry whose only purpose is its time: what was due at `at` is looked at (rule 13). Proposed by the leader when machine::next_alarm()
/// says so. Names no claims, may be proposed twice, late, or never. Answers true.
struct claims_alarm {
  static constexpr command_tag tag = command_tag::claims_alarm;

  cluster_time at; ///< for the log's reader: what counts is the time of the entry
};
template <>
inline constexpr auto fields_of<claims_alarm> = std::tuple{field<&claims_alarm::at>{}};

/// `PUT /v1/kv/KEY?acquire=SESSION&queue=`: acquires, or queues for the lock (rules 23 to 29). Answers a bool with a note, as an acquire
/// without `wait` does, or a claim_answer that says `waiting`.
struct kv_acquire {
  static constexpr command_tag tag = command_tag::kv_acquire;

  kv_op op;                       ///< kv_verb::lock
  std::uint64_t wait_ms = 0;      ///< its deadline, from the entry on; 0: it does not wait
  bool refuse_deadlock = false;   ///< `deadlock=refuse`
  std::optional<fence_ref> fence; ///< if a guard stands above the key
};
template <>
inline constexpr auto fields_of<kv_acquire> = std::tuple{
    field<&kv_acquire::op>{},
    field<&kv_acquire::wait_ms>{},
    field<&kv_acquire::refuse_deadlock>{},
    field<&kv_acquire::fence>{},
};

/// One request for the lock of a key, as it stands in the queue.
struct wait_ref {
  std::string key;
  std::string session; ///< in any case
  log_index asked_at;  ///< the entry that asked for it last: a wait that was asked for again since is another one

  bool operator==(const wait_ref&) const = default;
};
template <>
inline constexpr auto fields_of<wait_ref> = std::tuple{
    field<&wait_ref::key>{},
    field<&wait_ref::session>{},
    field<&wait_ref::asked_at>{},
};

/// Withdraws waits whose clients disconnected (rule 24). The server's own; needs feature level disconnect_level. A wait that was granted,
/// has ended, or was asked for again is skipped, so the command may be proposed twice, late, or never. Answers true.
struct waits_withdraw {
  static constexpr command_tag tag = command_tag::waits_withdraw;

  std::vector<wait_ref> waits; ///< at most withdrawn_at_once_max
};
template <>
inline constexpr auto fields_of<waits_withdraw> = std::tuple{field<&waits_withdraw::waits>{}};

/// A write of one key that names a fence (`?fence=F&claim=NAME` or `&lock=KEY`): carried out only while that fence is valid, whether the key
/// is guarded or not. Answers what the write answers.
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
