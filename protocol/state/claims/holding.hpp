#pragma once
// What is done with a claim that is there, and with the limit of a semaphore (docs/claims.md, rules 3, 5, 7, 8 and 30).

#include "protocol/state/tables.hpp"

namespace belay::state {

/// Each: @pre !wrong_with(c)
reply apply_claims(applying& a, const claim_release& c);
reply apply_claims(applying& a, const claim_hand_over& c);
reply apply_claims(applying& a, const claim_mode_set& c);
reply apply_claims(applying& a, const claim_limit_set& c);
reply apply_claims(applying& a, const claim_limit_unset& c);

/// What the arguments alone tell; nullopt: nothing is wrong with them.
std::optional<claim_refusal> wrong_with(const claim_release& c);
std::optional<claim_refusal> wrong_with(const claim_hand_over& c);
std::optional<claim_refusal> wrong_with(const claim_mode_set& c);
std::optional<claim_refusal> wrong_with(const claim_limit_set& c);
std::optional<claim_refusal> wrong_with(const claim_limit_unset& c);

} // namespace belay::state
