#pragma once
// Commands on existing claims and on semaphore limits (docs/reference/claims.md, rules 3, 5, 7, 8, 30).

#include "protocol/state/tables.hpp"

namespace belay::state {

/// Each: @pre !wrong_with(c)
reply apply_claims(applying& a, const claim_release& c);
reply apply_claims(applying& a, const claim_transfer& c);
reply apply_claims(applying& a, const claim_mode_set& c);
reply apply_claims(applying& a, const claim_limit_set& c);
reply apply_claims(applying& a, const claim_limit_unset& c);

/// What is wrong with the arguments alone; nullopt: nothing.
std::optional<claim_refusal> wrong_with(const claim_release& c);
std::optional<claim_refusal> wrong_with(const claim_transfer& c);
std::optional<claim_refusal> wrong_with(const claim_mode_set& c);
std::optional<claim_refusal> wrong_with(const claim_limit_set& c);
std::optional<claim_refusal> wrong_with(const claim_limit_unset& c);

} // namespace belay::state
