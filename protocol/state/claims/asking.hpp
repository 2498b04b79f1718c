#pragma once
// How a claim is asked for, and an acquire that waits (docs/claims.md, rules 3 to 9 and 23 to 25).

#include "protocol/state/tables.hpp"

namespace belay::state {

/// @pre !wrong_with(c)
reply apply_claims(applying& a, const claim_ask& c);
/// A guard was looked at before.
reply apply_claims(applying& a, const kv_acquire& c);
reply apply_claims(applying& a, const waits_withdraw& c);

/// A waiter that says `release` leaves the queue (rule 25). Others are none.
void leave_queue(applying& a, const std::string& key, std::string_view session);

/// What the arguments alone tell; nullopt: nothing is wrong with them.
std::optional<claim_refusal> wrong_with(const claim_ask& c);
std::optional<claim_refusal> wrong_with(const kv_acquire& c);
std::optional<claim_refusal> wrong_with(const waits_withdraw& c);
/// Of an id that a client chose.
bool is_claim_id(std::string_view id);

} // namespace belay::state
