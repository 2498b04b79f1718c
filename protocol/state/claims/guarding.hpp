#pragma once
// Write guards: writes that need a fencing token; valid tokens (docs/reference/claims.md, rules 34 to 37).

#include "protocol/state/tables.hpp"

#include <span>

namespace belay::state {

/// Whether it is the token of a current holder that does not share the resource (rule 35).
bool is_valid(const tables& t, const fence_ref& fence);
/// Whether the session holds the resource and does not share it.
bool holds_exclusively(const tables& t, const resource_name& of, std::string_view session);

/// The write guard that blocks the operation with these tokens, valid or not. Null: none does.
const guard_record* guard_against(const tables& t, const kv_op& op, std::span<const fence_ref> named);
/// The same on behalf of a session that ends: it has the tokens of all that it holds (rule 18).
const guard_record* guard_against_session(const tables& t, const kv_op& op, std::string_view session);
/// The write guard that blocks the grant of a waiting acquire (rule 34). What its session holds
/// counts, because the fencing token of its request may be outdated. Null: none does, or the
/// waiter's entry is below client_address_level.
const guard_record* guard_against_grant(const tables& t, const claim_record& waiter);

/// Texts for the client.
std::string guarded_text(const kv_op& op, const guard_record& by);
std::string invalid_fence_text(const fence_ref& fence);
claim_refusal guarded(const kv_op& op, const guard_record& by);
claim_refusal invalid_fence(const fence_ref& fence);

/// @pre !wrong_with(c)
reply apply_claims(applying& a, const guard_set& c);
reply apply_claims(applying& a, const guard_remove& c);
std::optional<claim_refusal> wrong_with(const guard_set& c);
std::optional<claim_refusal> wrong_with(const guard_remove& c);

} // namespace belay::state
