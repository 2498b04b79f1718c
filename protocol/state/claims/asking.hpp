#pragma once
// Commands that request a claim, or an acquire that waits (docs/reference/claims.md, rules 3-9 and 23-25).

#include "protocol/state/tables.hpp"

namespace belay::state {

/// @pre !wrong_with(c)
reply apply_claims(applying& a, const claim_ask& c);
/// The caller has checked write guards.
reply apply_claims(applying& a, const kv_acquire& c);
reply apply_claims(applying& a, const waits_withdraw& c);

/// Removes a waiter that sent `release` from the queue (rule 25). No effect on other sessions.
void leave_queue(applying& a, const std::string& key, std::string_view session);

/// What is wrong with the arguments alone; nullopt: nothing.
std::optional<claim_refusal> wrong_with(const claim_ask& c);
std::optional<claim_refusal> wrong_with(const kv_acquire& c);
std::optional<claim_refusal> wrong_with(const waits_withdraw& c);
/// Whether `id`, chosen by a client, has the form of a claim id.
bool is_claim_id(std::string_view id);

} // namespace belay::state
