#pragma once
// Rules for writes that take effect once (docs/reference/exactly-once.md): checks before, storing after.

#include "protocol/state/tables.hpp"

namespace belay::state {

/// The scope of a token's keys: its accessor. nullopt: the token is unknown or has expired.
std::optional<std::string> scope_of(const tables& t, const std::optional<auth_context>& by, cluster_time now);

/// Reply without running it: it took effect before, or never will. nullopt: this is the first copy.
std::optional<reply> known_outcome(const tables& t, const std::string& scope, const once_request& once);
/// Why an unknown key cannot be accepted; nullopt: it can.
std::optional<reply> not_accepted(const applying& a, const std::string& scope, const std::string& key,
                                  cluster_time requested);
/// @pre the key is unknown
void keep_outcome(applying& a, const std::string& scope, const once_request& once, const reply& answer);

reply seal_outcome(applying& a, const std::string& scope, const outcome_seal& c);

/// Whether the reply is too large to keep (applying::keeps_answer).
bool is_too_large(const reply& answer);

/// Removes outcomes that have expired at `a.now`, up to an entry's limit.
void forget_outcomes(applying& a);

} // namespace belay::state
