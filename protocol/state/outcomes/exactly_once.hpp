#pragma once
// The rules of writes that take effect once (docs/exactly-once.md): what is looked at before one is carried out, and what is kept of it.

#include "protocol/state/tables.hpp"

namespace belay::state {

/// In whose scope a key is: that of the token's accessor. nullopt: the token is none, or is over.
std::optional<std::string> scope_of(const tables& t, const std::optional<authority>& by, cluster_time now);

/// What is answered without carrying it out: the write took effect before, or never will. nullopt: this is the first that is heard of it.
std::optional<reply> known_outcome(const tables& t, const std::string& scope, const once_mark& once);
/// Why a key that nobody knows cannot be taken; nullopt: it can.
std::optional<reply> not_accepted(const applying& a, const std::string& scope, const std::string& key,
                                  cluster_time asked);
/// @pre nothing is known of the key
void keep_outcome(applying& a, const std::string& scope, const once_mark& once, const reply& answer);

reply seal_outcome(applying& a, const std::string& scope, const outcome_seal& c);

/// To be kept (applying::keeps_answer).
bool is_too_large(const reply& answer);

/// Forgets what is over at `a.now`, as many as one entry may.
void forget_outcomes(applying& a);

} // namespace belay::state
