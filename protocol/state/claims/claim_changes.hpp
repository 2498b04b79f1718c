#pragma once
// Primitive steps of all changes of claims: each maintains the resource's row, indexes, effects.

#include "protocol/state/tables.hpp"

namespace belay::state {

/// The resource changed in this entry. Creates, updates or removes its row
/// (docs/reference/claims.md, rule 2), wakes its readers, and has its queue checked at the end of
/// the entry.
void resource_changed(applying& a, const resource_name& of);

/// Creates the row of a resource that has none. Its first claim, or its limit, must follow.
void open_resource(applying& a, const resource_name& of, claim_kind kind, std::uint64_t limit);

/// The number after the last one.
std::uint64_t next_ticket(applying& a);

/// The waiter becomes the holder. @returns the updated claim; null for the lock of a key
claim_ptr grant_claim(applying& a, const claim_record& waiter);

/// Ends the claim, or the wait, and remembers its id.
/// @param cause claim_end_record::cause
void end_claim(applying& a, const claim_record& c, claim_end why, const std::string& cause = {});
/// The same for an unknown id.
void remember_unknown(applying& a, const resource_name& of, const std::string& id);
/// Whether the claim's end can be kept for ten minutes beside all others
/// (docs/reference/claims.md, rule 7). Always true for entries below client_address_level.
/// @param own_id the client chose the id
bool end_fits(const applying& a, const resource_name& of, std::string_view id, bool own_id);
/// Ends waiters for more permits than the limit, which would block all (docs/reference/claims.md, rule 5).
void end_too_large(applying& a, const resource_name& of, std::uint64_t limit);

} // namespace belay::state
