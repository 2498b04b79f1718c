#pragma once
// Rules for reading and writing keys and trees (docs/contract/03; docs/contract/04, section 3).

#include "protocol/state/tables.hpp"

namespace belay::state {

enum class key_outcome : std::uint8_t {
  done,       ///< even if there was nothing to change
  refused,    ///< index is stale, lock is held by another session or not held
  lock_delay, ///< the key cannot be acquired yet
  failed,     ///< `text` is the reason
};
struct key_result {
  key_outcome outcome = key_outcome::done;
  kv_entry_ptr entry{}; ///< the new entry; null: none, or the operation does not show it
  std::string text{};
  std::string holder{};      ///< rejected because of this session's lock
  std::uint64_t wait_ms = 0; ///< lock_delay: remaining time
  bool queued = false;       ///< rejected because others wait for the lock (docs/reference/claims.md, rule 28)
  refused_for why = refused_for::nothing; ///< rejected: value, bounds
  std::int64_t sum = 0;                   ///< add: the new value
};

/// Writes nothing unless the outcome is `done`. @pre writes_keys(op.verb)
key_result write_key(applying& a, const kv_op& op);

/// Whether the lock of the key is not held and not in a lock delay.
bool lock_is_free(const applying& a, const std::string& key);
/// Grants the lock to the waiter, with the value and flags of its request
/// (docs/reference/claims.md, rule 26). @returns the fencing token. @pre lock_is_free()
std::uint64_t grant_lock(applying& a, const claim_record& waiter);

/// Why a session id is malformed; nullopt: it is not.
std::optional<std::string> session_id_error(std::string_view id);

/// When the keys that this session loses now may be acquired again; nullopt: no delay.
std::optional<cluster_time> delay_end(const session_record& holder, cluster_time now);
/// Unlocks or removes (by session behavior) a key whose holder ends, and starts its lock delay.
void orphan_key(applying& a, const std::string& key, const session_record& holder);

} // namespace belay::state
