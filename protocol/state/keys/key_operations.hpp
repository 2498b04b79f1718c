#pragma once
// Rules of writing and reading single keys and trees (docs/contract/03, and docs/contract/04, section 3).

#include "protocol/state/tables.hpp"

namespace belay::state {

enum class key_outcome : std::uint8_t {
  done,       ///< also when nothing had to be changed
  refused,    ///< index is stale, lock is held by another or not held
  lock_delay, ///< the key cannot be acquired yet
  failed,     ///< `text` says why
};
struct key_result {
  key_outcome outcome = key_outcome::done;
  kv_entry_ptr entry{}; ///< as it is afterwards; null: none, or the operation does not show it
  std::string text{};
  std::string holder{};                   ///< refused because of this session's lock
  std::uint64_t wait_ms = 0;              ///< lock_delay: how long it lasts
  bool queued = false;                    ///< refused because others wait for the lock (docs/claims.md, rule 28)
  refused_for why = refused_for::nothing; ///< refused: value, bounds
  std::int64_t sum = 0;                   ///< add: what it is now
};

/// Writes nothing unless the outcome is `done`. @pre writes_keys(op.verb)
key_result write_key(applying& a, const kv_op& op);

/// Nobody holds the lock of the key, and no lock delay is in force.
bool lock_is_free(const applying& a, const std::string& key);
/// Gives the lock to who waited for it, with the value and the flags that he asked for (docs/claims.md, rule 26). @returns the fence
/// @pre lock_is_free()
std::uint64_t grant_lock(applying& a, const claim_record& waiter);

/// What is wrong with a session id before it is looked up; nullopt: nothing.
std::optional<std::string> session_id_error(std::string_view id);

/// Until when keys cannot be acquired that this session loses now; nullopt: no delay.
std::optional<cluster_time> delay_end(const session_record& holder, cluster_time now);
/// Unlocks or removes (by its session's behaviour) a key whose holder ends, and starts its lock delay.
void orphan_key(applying& a, const std::string& key, const session_record& holder);

} // namespace belay::state
